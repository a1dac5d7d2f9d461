package match

import "testing"

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
		var x Regex
		if err := x.UnmarshalText([]byte(test.source)); err != nil {
			t.Fatal(err)
		}
		if got := x.Match(test.value); got != test.want {
			t.Errorf("%s covers %q: %t, want %t", test.source, test.value, got, test.want)
		}
		if x.String() != test.source {
			t.Errorf("String() = %s, want %s", &x, test.source)
		}
	}
}
