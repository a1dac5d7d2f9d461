package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// compareAllocations compares the output of benchmarks with a baseline, both in the format of benchstat. It returns an
// error if a benchmark has more allocations. Unlike times, they do not depend on the machine, so the gate can compare
// them. A benchmark may allocate one more than its baseline, or 2 % more, because pools and maps vary by one and
// averages are rounded.
func compareAllocations(baseline string, current io.Reader, w io.Writer) error {
	before, err := os.ReadFile(baseline)
	if err != nil {
		return err
	}
	output, err := io.ReadAll(current)
	if err != nil {
		return err
	}
	want, got := allocations(string(before)), allocations(string(output))
	if failed := regexp.MustCompile(`(?m)^(--- )?FAIL.*`).FindString(string(output)); failed != "" || len(want) == 0 {
		return fmt.Errorf("a benchmark failed, or the baseline is empty: %s", failed)
	}
	all := maps.Clone(want)
	maps.Copy(all, got)
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		old, known := want[name]
		now, there := got[name]
		result := "ok"
		switch {
		case !there:
			result = "is only in the baseline: has it been renamed, or has its package failed?"
		case !known:
			result = "is not in the baseline: run make allocs-baseline"
		case now > old+max(1, old/50):
			result = "more than before: find the cause, or explain it in the commit and run make allocs-baseline"
		case now < old:
			result = "ok, fewer than before: run make allocs-baseline"
		}
		fmt.Fprintf(w, "%-60s %6d allocs, baseline %6d  %s\n", name, now, old, result)
		if !strings.HasPrefix(result, "ok") {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("different from the baseline: %s", strings.Join(wrong, ", "))
	}
	return nil
}

// allocations returns the allocations of each benchmark. If a benchmark ran several times, the lowest result counts.
// The names do not have the number of processors at their end, because it depends on the machine.
func allocations(output string) map[string]int {
	found := map[string]int{}
	line := regexp.MustCompile(`(?m)^(Benchmark\S+?)(?:-\d+)?\s.*\s(\d+) allocs/op$`)
	for _, match := range line.FindAllStringSubmatch(output, -1) {
		n, _ := strconv.Atoi(match[2]) // it consists of digits
		if least, again := found[match[1]]; !again || n < least {
			found[match[1]] = n
		}
	}
	return found
}
