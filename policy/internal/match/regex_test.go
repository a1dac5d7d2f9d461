package match

import (
	"strings"
	"testing"
)

func TestRegexCoversTheWholeValue(t *testing.T) {
	for _, test := range []struct {
		source, value string
		want          bool
	}{
		{"a|b", "a", true},
		{"a|b", "xa", false},
		{"a|b", "bx", false},
		{"^a$", "a", true},
		{"a", "A", false},
		{"(?i)a", "A", true},
		{"a", "a\n", false},
		{".*snippet.*", "one\nsnippet\ntwo", true}, // a newline does not hide the rest
		{"(?-s).*snippet.*", "one\nsnippet", false},
		{".*", "", true},
	} {
		x := mustRegex(t, test.source)
		if got := x.Passes(test.value, false); got != test.want || got == x.Passes(test.value, true) {
			t.Errorf("%s covers %q: %t, want %t", test.source, test.value, got, test.want)
		}
		if x.String() != test.source {
			t.Errorf("String() = %s, want %s", x, test.source)
		}
	}
}

// The limit counts characters, as CEL does. No longer value passes.
func TestRegexLimit(t *testing.T) {
	x := mustRegex(t, "[aé]*")
	const tooLong = `"%s"… is too long: more than 1,024 characters, the limit for regular expressions`
	for _, unit := range []string{"a", "é"} {
		value := strings.Repeat(unit, MaxRegexValue)
		if !x.Passes(value, false) || x.Passes(value, true) {
			t.Errorf("%s: 1,024 characters are not compared", unit)
		}
		value += unit
		for _, denied := range []bool{false, true} {
			want := strings.Replace(tooLong, "%s", value[:60], 1)
			if got := x.Reason(value, denied); x.Passes(value, denied) || got != want {
				t.Error(got)
			}
		}
	}
	if x.Passes(strings.Repeat("é", 4*MaxRegexValue), true) {
		t.Error("a huge value passes")
	}
}

// Every byte of a value counts, and so do the threads of an expression.
func TestRegexSteps(t *testing.T) {
	value := strings.Repeat("a", 800)
	for source, want := range map[string]int{"a*": 1 + 800 + 160, "b.*": 1, "(a|b)*a(a|b){10}": 1 + 800 + 1920} {
		if got := mustRegex(t, source).Steps(value); got != want {
			t.Errorf("%s: %d steps, want %d", source, got, want)
		}
	}
}

// Every value that an expression matches begins with its prefix.
func TestRegexPrefix(t *testing.T) {
	for source, want := range map[string]string{
		"abc": "abc", "(abc)d": "abc", "(ab)+c": "ab", "(ab){1,2}c": "ab", "(ab){0,2}c": "", "(ab)*c": "", "(ab)?c": "",
		"(?i)abc": "", "[a]b": "ab", "a|b": "", "^a": "", "": "",
	} {
		if x := new(Regex); source != "" && x.UnmarshalText([]byte(source)) != nil || x.Prefix() != want {
			t.Errorf("%s: %q, want %q", source, x.Prefix(), want)
		}
	}
}

func mustRegex(t *testing.T, source string) *Regex {
	t.Helper()
	x := new(Regex)
	if err := x.UnmarshalText([]byte(source)); err != nil {
		t.Fatal(err)
	}
	return x
}
