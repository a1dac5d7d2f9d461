package strict

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// syntaxErrors returns mistakes in YAML, with the line and the sentence of each. If the text ends inside a value, the
// line can be the line after the value.
func syntaxErrors() map[string]struct{ text, want string } {
	const (
		token = "found character that cannot start any token; indent with spaces instead of tabs, and quote values that " +
			"begin with @, % or a backquote"
		colon = "mapping values are not allowed in this context; check the indentation, and quote values that contain a colon " +
			"and a space"
		alias = "did not find expected alphabetic or numeric character; quote values that begin with *"
		short = "the JSON is truncated: it ends before the object does"
		blank = "\n\n\n\n\n\n\n\n\n\n"
	)
	return map[string]struct{ text, want string }{
		"a quote that is not closed":        {"- a\n- name: \"b\n  mode: c\n", "2 found unexpected end of stream"},
		"one beside another":                {"- {a: 'it''s', b: \"c}\n", "2 found unexpected end of stream"},
		"one that ends at a document":       {"a: 'b\n---\nc: d\n", "2 found unexpected document indicator"},
		"a quote that the next one closes":  {"- a\n- name: \"b\n  mode: \"c\"\n", "3 did not find expected key"},
		"text after a quote":                {"- a\n- b: \"c\" d\n", "2 did not find expected key"},
		"an escape":                         {"- a\n- \"/\\d+\"\n", "2 found unknown escape character"},
		"a tab before a hyphen":             {"a:\n\t- b\n", "2 " + token},
		"a tab before a key":                {"a: b\n\tc: d\n", "2 found a tab character that violates indentation"},
		"a key that is indented too far":    {"- name: a\n   mode: b\n", "2 " + colon},
		"a key that is not indented enough": {"- name: a\n mode: b\n", "2 did not find expected '-' indicator"},
		"a hyphen that is not":              {"a:\n  - b: c\n - d: e\n", "3 did not find expected key"},
		"a key where a hyphen is":           {"- - a: b\n  c: d\n", "2 did not find expected '-' indicator"},
		"a bracket that is not opened":      {"- a: b\n}\n", "2 did not find expected '-' indicator"},
		"an alias in brackets":              {"a:\n  b: [c, *.apps.corp]\n", "2 " + alias},
		"an alias without an anchor":        {"a:\n- *corp\n", "2 unknown anchor 'corp' referenced; quote values that begin with *"},
		"a colon in a value":                {"- a\n- b: c: d\n", "2 " + colon},
		"an at sign":                        {"- a\n- b: @c\n", "2 " + token},
		"no space after a colon":            {"- a:b\n  c: d\n", "2 " + colon},
		"no colon":                          {"a: b\nc d\ne: f\n", "2 could not find expected ':'"},
		"a block that is not indented":      {"a: |\nb c\nd: e\n", "2 could not find expected ':'"},
		"a word after a block's indicator":  {"- a\n- b: >c\n    d\n", "2 did not find expected comment or line break"},
		"a list that is not closed":         {"a: [b, c\n", "1 did not find expected ',' or ']'"},
		"one before a key":                  {"a: [b\nc: d\n- e\n", "3 did not find expected ',' or ']'"},
		"a mapping that is not closed":      {"- {a: b\n- {c: d}\n", "2 did not find expected ',' or '}'"},
		"a list that a brace closes":        {"- a\n- [b, c}\n", "2 did not find expected ',' or ']'"},
		"truncated JSON":                    {"{\n  \"a\": [\"}\",\n  \"b\\\"}\"\n", "3 " + short},
		"truncated JSON after blank lines":  {blank + "{\n\"a\": 1", "12 " + short},
		"JSON that is truncated in a text":  {"{\"a\":\n\"b\n", "2 " + short},
		"JSON that is not truncated":        {"{\n  \"a\": [1}\n}\n", "3 did not find expected ',' or ']'"},
		"a quote in single quotes":          {"{\"a\": 'x\"y', b: [c}\n", "1 did not find expected ',' or ']'"},
		"a quote in a comment":              {"{\"a\": 1, # \"\n[b] c}\n", "2 did not find expected ',' or '}'"},
		"a quote in a word":                 {"{\"a\": b\"c, [d] e}\n", "1 did not find expected ',' or '}'"},
		"a list after blank lines":          {blank + "- a\n- [b, c}\n", "12 did not find expected ',' or ']'"},
		"an alias after blank lines":        {blank + "a:\n- *b\n", "12 unknown anchor 'b' referenced; quote values that begin with *"},
		"two commas":                        {"- a\n- [b,,c]\n", "2 did not find expected node content"},
		"a control character":               {"- a\n- b\x00c\n", "2 control characters are not allowed"},
		"what is not UTF-8":                 {"- ä\n- ä\xff\n", "2 invalid leading UTF-8 octet"},
		"line ends of Windows":              {"- a\r\n- @b\r\n", "2 " + token},
		"a byte order mark":                 {"\ufeff- a\n- @b\n", "2 " + token},
		"characters of several bytes":       {"a: {ä: ö, ü: @b}\n", "1 " + token},
		"the second document":               {"a: b\n---\nc: d\n---\ne: @f\n", "5 " + token},
		"a tag without end":                 {"a: b\nc: !<d e\n", "2 did not find the expected '>'"},
		"a directive":                       {"a: b\n...\n%C\n---\n", "3 found unknown directive name"},
	}
}

// TestSyntaxErrors checks that an error has the line of the mistake, and not the line of the list or mapping around it.
func TestSyntaxErrors(t *testing.T) {
	for name, test := range syntaxErrors() {
		t.Run(name, func(t *testing.T) {
			line, msg, _ := strings.Cut(test.want, " ")
			want := "a:" + line + ": not valid YAML: " + msg
			if diff := cmp.Diff(want, syntaxErrorOf(Source{File: "a", Data: []byte(test.text)})); diff != "" {
				t.Errorf("%s\n%s", test.text, diff)
			}
		})
	}
}

func syntaxErrorOf(s Source) string {
	d := NewDecoder(context.Background(), wide)
	for range d.Documents(s) {
		// Only the error counts.
	}
	return d.Errors().Errors().Error()
}

// TestErrorsOfBlocks checks that positions in a block of a manifest are positions in the manifest, also in sentences.
func TestErrorsOfBlocks(t *testing.T) {
	s := Source{File: "a", Data: []byte("a: [b\nc: d\n"), Lines: 10, Columns: 4}
	if got, want := syntaxErrorOf(s), "a:12: not valid YAML: did not find expected ',' or ']'"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var v thing
	d := NewDecoder(t.Context(), wide)
	for doc := range d.Documents(Source{File: "a", Data: []byte("name: n\nname: m\n"), Lines: 10, Columns: 4}) {
		d.Decode(doc, &v)
	}
	want := "a:12:5: name: duplicate key, first set on line 11"
	if got := d.Errors().Errors().Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
