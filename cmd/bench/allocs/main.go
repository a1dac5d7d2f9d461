// Allocs compares the allocations of benchmarks with a stored baseline, and fails if there are more. Unlike times, they
// do not depend on the machine, so the gate can compare them.
//
//	go test -run '^$' -bench . -benchmem ./review | go run ./cmd/bench/allocs cmd/bench/baseline.txt
//
// Both are in the format of benchstat. A benchmark may allocate one more than its baseline, or 2 % more, because pools
// and maps vary by one and averages are rounded.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: allocs BASELINE < output of go test -bench")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "allocs:", err)
		os.Exit(1)
	}
}

func run(path string, current io.Reader, w io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	want, err := read(f)
	if err != nil {
		return err
	}
	got, err := read(current)
	if err != nil {
		return err
	}
	return compare(want, got, w)
}

// compare prints a line for each benchmark. It returns an error that lists the benchmarks whose result is not ok.
func compare(want, got map[string]int64, w io.Writer) error {
	var wrong []string
	for _, name := range names(want, got) {
		before, known := want[name]
		now, there := got[name]
		result := "ok"
		switch {
		case !there:
			result = "is only in the baseline: has it been renamed, or has its package failed?"
		case !known:
			result = "is not in the baseline: run make allocs-baseline"
		case now > before+max(1, before/50):
			result = "more than before: find the cause, or explain it in the commit and run make allocs-baseline"
		case now < before:
			result = "ok, fewer than before: run make allocs-baseline"
		}
		fmt.Fprintf(w, "%-60s %6d allocs, baseline %6d  %s\n", name, now, before, result)
		if !strings.HasPrefix(result, "ok") {
			wrong = append(wrong, name)
		}
	}
	switch {
	case len(wrong) > 0:
		return fmt.Errorf("different from the baseline: %s", strings.Join(wrong, ", "))
	case len(want) == 0:
		return fmt.Errorf("the baseline does not contain any benchmarks")
	}
	return nil
}

func names(a, b map[string]int64) []string {
	var all []string
	for _, m := range []map[string]int64{a, b} {
		for name := range m {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// read returns the allocations of each benchmark. If a benchmark ran several times, the lowest result counts. read
// removes the number of processors from the end of the name, because it depends on the machine.
func read(r io.Reader) (map[string]int64, error) {
	found := map[string]int64{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "FAIL") || strings.HasPrefix(lines.Text(), "--- FAIL") {
			return nil, fmt.Errorf("the benchmarks failed: %s", lines.Text())
		}
		fields := strings.Fields(lines.Text())
		at := slices.Index(fields, "allocs/op")
		if at < 1 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		n, err := strconv.ParseInt(fields[at-1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		name := fields[0]
		if i := strings.LastIndexByte(name, '-'); i > 0 && strings.Trim(name[i+1:], "0123456789") == "" {
			name = name[:i]
		}
		if least, again := found[name]; !again || n < least {
			found[name] = n
		}
	}
	return found, lines.Err()
}
