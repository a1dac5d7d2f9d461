package podtemplate

import (
	"strings"
	"testing"
)

// One path is within another if some object has a value at both, because this value would be evaluated twice.
func TestPathWithin(t *testing.T) {
	for _, test := range []struct {
		inner, outer string
		want         bool
	}{
		{"a.b", "a", true},
		{"a", "a", true},
		{"a", "a.b", false},
		{"a.b", "a.c", false},
		{"a.*.c", "a.b", true},
		{"a.b.c", "a.*.c", true},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.b.d", false},
		{"a.*", "a.b.c", false},
	} {
		inner, outer := Path(strings.Split(test.inner, ".")), Path(strings.Split(test.outer, "."))
		if got := inner.within(outer); got != test.want {
			t.Errorf("%s within %s: %t", inner, outer, got)
		}
	}
}
