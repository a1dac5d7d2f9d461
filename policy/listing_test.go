package policy

import (
	"strings"
	"testing"
)

func TestListing(t *testing.T) {
	for values, want := range map[string]string{
		"":              "",
		"a":             "a",
		"a b":           "a, b",
		"a b c d e":     "a, b, c, d, e",
		"a b c d e f":   "a, b, c, d, e and 1 more",
		"a b c d e f g": "a, b, c, d, e and 2 more",
	} {
		if got := listing(strings.Fields(values)); got != want {
			t.Errorf("listing(%s) = %q, want %q", values, got, want)
		}
	}
	if got := listing([]glob{"team-*", "x"}); got != "team-*, x" {
		t.Errorf("globs: %q", got)
	}
}
