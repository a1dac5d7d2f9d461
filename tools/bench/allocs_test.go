package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const baseline = `goos: linux
BenchmarkDecode/pod-small-2   	  10000	     6170 ns/op	 455.9 MB/s	    2152 B/op	      15 allocs/op
BenchmarkDecode/ingress-500-2   	    100	   562680 ns/op	    2152 B/op	     1000 allocs/op
`

func TestAllocations(t *testing.T) {
	got := allocations(baseline + "BenchmarkDecode/pod-small-8 1 1 ns/op 1 B/op 14 allocs/op\n")
	want := map[string]int{"BenchmarkDecode/pod-small": 14, "BenchmarkDecode/ingress-500": 1000}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCompareAllocations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "baseline.txt")
	if err := os.WriteFile(path, []byte(baseline), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ old, replacement, want string }{
		"the same":      {"", "", ""},
		"one more":      {"15 allocs", "16 allocs", ""},
		"two more":      {"15 allocs", "17 allocs", "different from the baseline: BenchmarkDecode/pod-small"},
		"fewer":         {"15 allocs", "3 allocs", ""},
		"2 % more":      {"1000 allocs", "1020 allocs", ""},
		"more than 2 %": {"1000 allocs", "1021 allocs", "different from the baseline: BenchmarkDecode/ingress-500"},
		"another name": {"pod-small", "pod-tiny",
			"different from the baseline: BenchmarkDecode/pod-small, BenchmarkDecode/pod-tiny"},
		"other processes": {"small-2", "small-16", ""},
		"it failed": {"goos: linux", "--- FAIL: BenchmarkDecode",
			"a benchmark failed, or the baseline is empty: --- FAIL: BenchmarkDecode"},
	} {
		t.Run(name, func(t *testing.T) {
			output := strings.NewReader(strings.Replace(baseline, test.old, test.replacement, 1))
			err := compareAllocations(path, output, io.Discard)
			if got := message(err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
