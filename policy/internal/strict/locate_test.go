package strict

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// syntaxErrors are mistakes in YAML, with the position and the sentence of each. Line numbers start at 1.
func syntaxErrors() map[string]struct{ text, want string } {
	const (
		token   = "found character that cannot start any token"
		alias   = "did not find expected alphabetic or numeric character"
		value   = "mapping values are not allowed in this context"
		space   = value + ": is this line indented too far, or does a line above lack the space after its colon?"
		tab     = "a tab cannot indent: write spaces"
		key     = "did not find expected key"
		hyphen  = "did not find expected '-' indicator"
		quote   = "the quote that begins here is not closed"
		later   = "the quote that begins here ends in line 3, and more follows: close it earlier"
		indent  = ": indent this line as its neighbours are"
		list    = "did not find expected ',' or ']'"
		mapping = "did not find expected ',' or '}'"
		node    = "did not find expected node content"
	)
	return map[string]struct{ text, want string }{
		"a quote that is not closed":        {"- a\n- name: \"b\n  mode: c\n", "2:9 " + quote},
		"one beside another":                {"- {a: 'it''s', b: \"c}\n", "1:19 " + quote},
		"one that ends at a document":       {"a: 'b\n---\nc: d\n", "1:4 " + quote},
		"a quote that the next one closes":  {"- a\n- name: \"b\n  mode: \"c\"\n", "2:9 " + later},
		"a quote within quotes":             {"- a: 'it's'\n", "1:10 " + key},
		"text after a quote":                {"- a\n- b: \"c\" d\n", "2:10 " + key},
		"an escape":                         {"- a\n- \"/\\d+\"\n", `2:5 found unknown escape character: in single quotes a \ has no meaning`},
		"a tab before a hyphen":             {"a:\n\t- b\n", "2:1 " + tab},
		"a tab before a key":                {"a: b\n\tc: d\n", "2:1 " + tab},
		"a key that is indented too far":    {"- name: a\n   mode: b\n", "2:8 " + space},
		"a key that is not indented enough": {"- name: a\n mode: b\n", "2:2 " + hyphen + indent},
		"one after comments":                {"- name: a\n# b\n  # c\n mode: d\n", "4:2 " + hyphen + indent},
		"a hyphen that is not":              {"a:\n  - b: c\n - d: e\n", "3:2 " + key + indent},
		"a hyphen where a key is":           {"- name: a\n  - name: b\n", "2:3 " + key + indent},
		"a key where a hyphen is":           {"- - a: b\n  c: d\n", "2:3 " + hyphen + indent},
		"a bracket that is not opened":      {"- a: b\n}\n", "2:1 " + hyphen},
		"an alias in brackets":              {"a:\n  b: [c, *.apps.corp]\n", "2:10 " + alias + `; quote it: "*.apps.corp"`},
		"an alias as an item":               {"a:\n- *.corp\n", "2:3 " + alias + `; quote it: "*.corp"`},
		"a star":                            {"a:\n- *\nb: c\n", "2:3 " + alias + `; quote it: "*"`},
		"two stars":                         {"a: [**.corp]\n", "1:5 " + alias + `; quote it: "**.corp"`},
		"an alias without an anchor":        {"a:\n- *corp\n", `2:3 unknown anchor 'corp' referenced; quote it: "*corp"`},
		"a colon in a value":                {"- a\n- b: c: d\n", `2:7 ` + value + `: quote the value, which contains ": "`},
		"an at sign":                        {"- a\n- b: @c\n", "2:6 " + token + `; quote it: "@c"`},
		"a percent sign":                    {"- a\n- b: %c d\n", "2:6 " + token + `; quote it: "%c"`},
		"a backquote":                       {"- a\n- `b`\n", "2:3 " + token + "; quote it: \"`b`\""},
		"no space after a colon":            {"- a:b\n  c: d\n", "2:4 " + space},
		"no colon":                          {"a: b\nc d\ne: f\n", "2:1 could not find expected ':'"},
		"no colon after a hyphen":           {"- a: b\n  c d\n  e: f\n", "2:3 could not find expected ':'"},
		"a block that is not indented":      {"a: |\nb c\nd: e\n", "2:1 could not find expected ':'"},
		"a word after a block's indicator":  {"- a\n- b: >c\n    d\n", "2:7 did not find expected comment or line break"},
		"a list that is not closed":         {"a: [b, c\n", "1:4 the [ is not closed"},
		"one before a key":                  {"a: [b\nc: d\n- e\n", "2:2 " + list + ": the [ in line 1 is not closed"},
		"one before a document":             {"a: b\n---\nc: [d,\n---\n", "4:1 " + node},
		"a mapping that is not closed":      {"- {a: b\n- {c: d}\n", "2:3 " + mapping + ": the { in line 1 is not closed"},
		"a list that a brace closes":        {"- a\n- [b, c}\n", "2:8 " + list},
		"two commas":                        {"- a\n- [b,,c]\n", "2:6 " + node},
		"two values":                        {"- a\n- [\"b\" c]\n", "2:8 " + list},
		"a control character":               {"- a\n- b\x00c\n", "2:4 control characters are not allowed"},
		"what is not UTF-8":                 {"- ä\n- ä\xff\n", "2:4 invalid leading UTF-8 octet"},
		"line ends of Windows":              {"- a\r\n- @b\r\n", "2:3 " + token + `; quote it: "@b"`},
		"a byte order mark":                 {"\ufeff- a\n- @b\n", "2:3 " + token + `; quote it: "@b"`},
		"one in the same line":              {"\ufeffa: @b\n", "1:4 " + token + `; quote it: "@b"`},
		"characters of several bytes":       {"a: {ä: ö, ü: @b}\n", "1:14 " + token + `; quote it: "@b"`},
		"the second document":               {"a: b\n---\nc: d\n---\ne: @f\n", "5:4 " + token + `; quote it: "@f"`},
		"a tag without end":                 {"a: b\nc: !<d e\n", "2:1 did not find the expected '>'"},
		"a directive":                       {"a: b\n...\n%C\n---\n", "3:2 found unknown directive name"},
	}
}

// The position of a mistake is the mistake itself, and not the start of the collection around it.
func TestSyntaxErrors(t *testing.T) {
	for name, test := range syntaxErrors() {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(position(test.want), syntaxErrorOf(Source{File: "a", Data: []byte(test.text)})); diff != "" {
				t.Errorf("%s\n%s", test.text, diff)
			}
		})
	}
}

// position returns "line:column sentence", as in an error.
func position(s string) string {
	at, msg, _ := strings.Cut(s, " ")
	return "a:" + at + ": not valid YAML: " + msg
}

func syntaxErrorOf(s Source) string {
	d := NewDecoder(context.Background(), wide)
	for range d.Documents(s) {
		// Only the error counts.
	}
	return d.Errors().Errors().Error()
}

// In a block of a manifest, all lines and columns count from the start of the manifest, also in sentences.
func TestSyntaxErrorsOfBlocks(t *testing.T) {
	for text, want := range map[string]string{
		"a: @b\n":                     `11:8: not valid YAML: found character that cannot start any token; quote it: "@b"`,
		"a: [b\nc: d\n- e\n":          "12:6: not valid YAML: did not find expected ',' or ']': the [ in line 11 is not closed",
		"- a\n- b: \"c\n  d: \"e\"\n": "12:10: not valid YAML: the quote that begins here ends in line 13, and more follows: close it earlier",
	} {
		if got := syntaxErrorOf(Source{File: "a", Data: []byte(text), Lines: 10, Columns: 4}); got != "a:"+want {
			t.Errorf("%s\ngot  %s\nwant a:%s", text, got, want)
		}
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

// If a text is too long to be parsed repeatedly, the position of an error is the last line that the parser has read, or
// the start of the quote that is not closed.
func TestSyntaxErrorsOfLongTexts(t *testing.T) {
	long := strings.Repeat("- abcdefgh\n", maxLocated/11+1)
	spent := long[:maxLocated*9/10/11*11] // two beginnings of it spend the budget
	for text, want := range map[string]string{
		spent + "- {b: c d: e}\n": `10725:3: not valid YAML: did not find expected ',' or '}'`,
		long + "- @b\n" + long:    `11917:3: not valid YAML: found character that cannot start any token`,
		long + "- 'b\n" + long:    `11917:3: not valid YAML: found unexpected end of stream`,
		long + "- *ab\n" + long:   `11917:3: not valid YAML: unknown anchor 'ab' referenced; quote it: "*ab"`,
		long + "- a\x01\n":        `11917:4: not valid YAML: control characters are not allowed`,
	} {
		if got := syntaxErrorOf(Source{File: "a", Data: []byte(text)}); got != "a:"+want {
			t.Errorf("got  %s\nwant a:%s", got, want)
		}
	}
}

// Finding the position of an error costs at most its budget and three times the text.
func TestLocateIsBounded(t *testing.T) {
	long := strings.Repeat("- abcdefgh\n", maxLocated/11-100)
	for _, text := range []string{
		long + "a: " + strings.Repeat("b c ", 100) + "\n",
		long + "- " + strings.Repeat("[", 300),
		long + "- {" + strings.Repeat("a,", 300) + "\n@\n",
	} {
		l := locator{reparser: reparser{ctx: t.Context(), data: []byte(text), budget: locateBudget}}
		l.msg, _ = l.fails(bytes.NewReader(l.data))
		if l.msg == "" {
			t.Fatal("no error")
		}
		l.find(l.needed())
		if l.budget < -2*len(text) {
			t.Errorf("%d bytes beyond the budget", -l.budget)
		}
	}
}

// For every text, the position of an error is in the text, and is always the same.
func FuzzLocate(f *testing.F) {
	for _, test := range syntaxErrors() {
		f.Add([]byte(test.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var n yaml.Node
		dec := yaml.NewDecoder(bytes.NewReader(data))
		err := dec.Decode(&n)
		for err == nil {
			err = dec.Decode(&n)
		}
		if err.Error() == "EOF" {
			return
		}
		msg, line := splitError(err)
		if at := locate(t.Context(), Source{Data: data}, msg, line, len(data)); at.offset < 0 || at.offset > len(data) || at.msg == "" {
			t.Errorf("%+v", at)
		}
	})
}
