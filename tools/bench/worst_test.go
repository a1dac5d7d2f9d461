package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/evergate/evergate/review/reviewtest/costliest"
)

// Each exceeded limit is reported, and no other.
func TestWorstRows(t *testing.T) {
	const size = 1 << 20
	for name, test := range map[string]struct {
		spoil func(*worstRow)
		want  string
	}{
		"nothing":       {func(*worstRow) {}, ""},
		"ratio":         {func(r *worstRow) { r.took = 121 * time.Millisecond }, "12.1 times the floor, at most 12"},
		"not the ratio": {func(r *worstRow) { r.Many, r.floor = true, time.Millisecond }, ""},
		"ten rules": {func(r *worstRow) { r.policy, r.floor, r.took = "ten", time.Millisecond, 67*time.Millisecond },
			"67.0 times the floor, at most 12, and 66ms more than it, at most 65ms"},
		"ten rules, a large body": {func(r *worstRow) { r.policy, r.took = "ten", 11*r.floor }, ""},
		"regexes": {func(r *worstRow) { r.policy, r.floor, r.took = "regexes", time.Millisecond, 13*time.Millisecond },
			"13.0 times the floor, at most 12"},
		"elements": {func(r *worstRow) { r.Many, r.floor, r.took = true, time.Millisecond, 67*time.Millisecond },
			"67.0 times the floor, at most 12, and 66ms more than it, at most 65ms"},
		"memory":    {func(r *worstRow) { r.allocated++ }, "17.0 MiB allocated, at most 17.0"},
		"answer":    {func(r *worstRow) { r.answer++ }, "a response of 65537 bytes, at most 65536"},
		"log":       {func(r *worstRow) { r.line++ }, "a log line of 4097 bytes, at most 4096"},
		"no answer": {func(r *worstRow) { r.err = errors.New("429") }, "not answered: 429"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &worstRow{
				policy: "one", size: size, floor: 10 * time.Millisecond, took: 50 * time.Millisecond,
				pod:       65 * time.Microsecond,
				allocated: costliest.MaxAllocated(size), answer: costliest.MaxAnswer, line: costliest.MaxLog,
			}
			test.spoil(r)
			if got := strings.Join(r.broken(), "; "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			var b strings.Builder
			if err := printWorst(&b, []*worstRow{r}); (err != nil) != (test.want != "") {
				t.Errorf("got %v", err)
			}
			if held := strings.Contains(b.String(), "rows keep their limits"); held != (test.want == "") {
				t.Errorf("got %s", b.String())
			}
		})
	}
}
