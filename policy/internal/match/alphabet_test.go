package match

import (
	"strings"
	"testing"
)

// A pattern that cannot match any value is rejected, and the error contains the pattern that was probably intended.
func TestAlphabets(t *testing.T) {
	const (
		tag       = " matches nothing: a tag is written with letters, digits, _ . and -, at most 128"
		namespace = " matches nothing: a namespace is written with lower case letters, digits and -, at most 63"
	)
	for _, test := range []struct {
		alphabet Alphabet
		pattern  Glob
		want     string
	}{
		{Tags(), "latest", ""}, {Tags(), "*", ""}, {Tags(), "v1.*-RC_1", ""}, {Tags(), Glob(strings.Repeat("x", 128)), ""},
		{Tags(), "*:latest", `"*:latest"` + tag + "; write latest"},
		{Tags(), ":latest", `":latest"` + tag + "; write latest"},
		{Tags(), "^latest$", `"^latest$"` + tag + "; write latest"},
		{Tags(), "latest ", `"latest "` + tag + "; write latest"},
		{Tags(), "dev+1", `"dev+1"` + tag},
		{Tags(), Glob(strings.Repeat("x", 129)), `"` + strings.Repeat("x", 60) + `"…` + tag},
		{Namespaces(), "team-a", ""}, {Namespaces(), "team-*", ""},
		{Namespaces(), "^team-.*$", `"^team-.*$"` + namespace + "; write team-*"},
		{Namespaces(), "Team-A", `"Team-A"` + namespace + "; write team-a"},
		{Namespaces(), "Team_A", `"Team_A"` + namespace},
		{Namespaces(), "team/a", `"team/a"` + namespace},
	} {
		got := ""
		if err := test.alphabet.Check(test.pattern); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%q\ngot  %s\nwant %s", test.pattern, got, test.want)
		}
	}
}
