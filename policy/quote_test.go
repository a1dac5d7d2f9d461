package policy

import (
	"strings"
	"testing"
)

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"":                            `""`,
		"a \"b\"":                     `"a \"b\""`,
		"a\nb\x00\u202e\xff":          `"a\nb\x00\u202e\xff"`,
		strings.Repeat("x", 60):       `"` + strings.Repeat("x", 60) + `"`,
		strings.Repeat("x", 61):       `"` + strings.Repeat("x", 60) + `"…`,
		"x" + strings.Repeat("é", 60): `"x` + strings.Repeat("é", 29) + `"…`,   // never half a character
		strings.Repeat("\xbf", 90):    `"` + strings.Repeat(`\xbf`, 56) + `"…`, // not text at all
	} {
		if got := quoted(in); got != want {
			t.Errorf("quoted(%q) = %s, want %s", in, got, want)
		}
	}
}
