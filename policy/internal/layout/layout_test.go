package layout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func order() *Order {
	return &Order{Names: []string{"a", "b", "c"}, Inner: map[string]*Order{"c": {Names: []string{"x", "y"}}}}
}

func TestFormat(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"fields":                      {"b: 1\na: 2\n", "a: 2\nb: 1\n"},
		"unknown ones last":           {"z: 1\nb: 2\n", "b: 2\nz: 1\n"},
		"of lists":                    {"c:\n  - y: 1\n    x: 2\n", "c:\n- x: 2\n  y: 1\n"},
		"in brackets":                 {"c: [{y: 1,x: 2}]\n", "c: [{x: 2, y: 1}]\n"},
		"in brackets of two lines":    {"c: {y: 1,\n  x: 2}\n", "c: {y: 1,\n  x: 2}\n"},
		"not in quotes":               {"a: \"{y: 1,x: 2}\"\n", "a: \"{y: 1,x: 2}\"\n"},
		"quotes in brackets":          {`c: {y: "}, {",  x: 'it''s'}` + "\n", `c: {x: 'it''s', y: "}, {"}` + "\n"},
		"a number sign in brackets":   {"c: {y: a#b,x: 2}\n", "c: {y: a#b,x: 2}\n"},
		"a block with a number sign":  {"b: |\n   # text\n    more\n  # comment\na: 1\n", "a: 1\nb: |\n   # text\n    more\n# comment\n"},
		"a block deeper in":           {"c:\n    y: |\n      text\n\n      more\n    x: 1\n", "c:\n  x: 1\n  y: |\n    text\n\n    more\n"},
		"a comment moves with it":     {"# of all\nb: 1\n# of a\na: 2\n", "# of all\n# of a\na: 2\nb: 1\n"},
		"spaces at the end":           {"a: 1  \n\n\n\nb: 2\n\n", "a: 1\n\nb: 2\n"},
		"line ends of Windows":        {"b: 1\r\na: 2\r\n", "a: 2\nb: 1\n"},
		"documents":                   {"---\nb: 1\na: 2\n--- # second\nb: 3\n", "---\na: 2\nb: 1\n--- # second\nb: 3\n"},
		"one behind its marker":       {"--- {b: 1,a: 2}\n", "--- {b: 1,a: 2}\n"},
		"directives":                  {"%YAML 1.1\n---\nb: 1\na: 2\n", "%YAML 1.1\n---\na: 2\nb: 1\n"},
		"nothing but a comment":       {"\n  # text\n\n", "# text\n"},
		"keys in quotes":              {"\"b\": 1\n'a' : 2\n", "'a': 2\n\"b\": 1\n"},
		"a value in the next line":    {"b:\n    1\na:\n  2\n", "a:\n  2\nb:\n    1\n"},
		"text of several lines":       {"c:\n    y: \"one\n      two\"\n    x: 1\n", "c:\n  x: 1\n  y: \"one\n    two\"\n"},
		"characters of several bytes": {"c:\n- {y: ä, x: ö} # ü\n", "c:\n- {x: ö, y: ä} # ü\n"},
	} {
		got, err := Format([]byte(tt.in), order())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestFormatErrors(t *testing.T) {
	for in, want := range map[string]string{
		"a: 1\nb: |+\n  text\n\n": "line 2: a block that keeps the blank lines at its end (+) is not formatted",
		"a:\n- - b\n":             "line 2: a list in a list is not formatted",
		"---\n? a\n: b\n":         "line 2: this field does not begin its line",
		"a: b\rc: d\n":            "line 1: a line ends with neither LF nor CRLF",
		"b: \"x\n# y\"\na: 1\n":   "formatted, it would not be YAML: yaml: line 3: found unexpected end of stream",
		"a: [\n":                  "from line 1 on: yaml: line 1: did not find expected node content",
	} {
		got, err := Format([]byte(in), order())
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s\n%s", in, err, want, got)
		}
	}
}
