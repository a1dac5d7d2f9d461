package strict

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

type colour string

func (c *colour) UnmarshalText(text []byte) error {
	if string(text) != "red" && string(text) != "blue" {
		return fmt.Errorf("%q is not a colour: write red or blue", text)
	}
	*c = colour(text)
	return nil
}

type common struct {
	Name string `yaml:"name,required"`
	Pos  Pos    `yaml:"-"`
}

type limits struct {
	Min int `yaml:"min"`
	Max int `yaml:"max"`
}

func (l *limits) Validate() error {
	if l.Min > l.Max {
		return errors.Join(Fieldf("min", "min %d is above max %d", l.Min, l.Max), errors.New("limits cannot be met"))
	}
	return nil
}

type thing struct {
	common
	Colour  colour   `yaml:"colour"`
	Tags    []string `yaml:"tags"`
	On      *bool    `yaml:"on"`
	Limits  *limits  `yaml:"limits"`
	Allowed []colour `yaml:"allowed"`
}

func decode(t *testing.T, text string) (thing, error) {
	t.Helper()
	return decodeWithin(t, wide, text)
}

// wide contains limits that the texts of these tests do not reach.
var wide = Limits{Values: 1e6, Entries: 1e6, Texts: 1e6, Cost: 1e6}

func decodeWithin(t *testing.T, limits Limits, text string) (v thing, err error) {
	t.Helper()
	d := NewDecoder(t.Context(), limits)
	n := 0
	for doc := range d.Documents(Source{File: "a.yaml", Data: []byte(text)}) {
		n++
		if before := d.errs.Len(); d.Decode(doc, &v) != (d.errs.Len() == before && !d.Stopped()) {
			t.Error("Decode does not report whether there was an error")
		}
	}
	if errs := d.Errors().Errors(); errs != nil {
		return v, errs
	}
	if n != 1 {
		t.Fatalf("got %d documents, want 1", n)
	}
	return v, nil
}

func TestDecode(t *testing.T) {
	got, err := decode(t, `
# a comment
name: n
colour: red
tags: []
on: false
limits: {min: 1, max: 3}
`)
	if err != nil {
		t.Fatal(err)
	}
	off := false
	want := thing{
		common: common{Name: "n", Pos: Pos{File: "a.yaml", Line: 3, Column: 1}},
		Colour: "red", Tags: []string{}, On: &off, Limits: &limits{1, 3},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(thing{}), cmp.AllowUnexported(common{})); diff != "" {
		t.Error(diff)
	}
	if got.Allowed != nil || got.Tags == nil {
		t.Error("an absent list must be nil and an empty one must not")
	}
}

// Each text has the mistakes in its sentences. All of them are reported together.
func TestDecodeErrors(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"misspelt":          {"name: n\ncolor: red", `a.yaml:2:1: color: unknown field; did you mean colour?`},
		"unknown":           {"name: n\nzebra: red", `a.yaml:2:1: zebra: unknown field; known here: name, colour, tags, on, limits, allowed`},
		"twice":             {"name: n\nname: m", `a.yaml:2:1: name: duplicate key, first set on line 1`},
		"missing":           {"colour: red", `a.yaml:1:1: name is required`},
		"a long name":       {"name: n\n" + strings.Repeat("x", 100) + ": red", `a.yaml:2:1: ` + strings.Repeat("x", 57) + `…: unknown field; known here: name, colour, tags, on, limits, allowed`},
		"a long anchor":     {"name: n\ncolour: *" + strings.Repeat("x", 1000), `a.yaml:2: not valid YAML: unknown anchor '` + strings.Repeat("x", 493) + `…`},
		"null list":         {"name: n\ntags:", `a.yaml:2:6: tags: null is not a value: leave the field out to leave it unchecked, or write a list (the empty one is [])`},
		"null struct":       {"name: n\nlimits: ~", `a.yaml:2:9: limits: null is not a value: leave the field out to leave it unchecked, or write its fields`},
		"number as string":  {"name: 12", `a.yaml:1:7: name: want a string, got 12: put it in quotes`},
		"string as bool":    {"name: n\non: yes", `a.yaml:2:5: on: want true or false, got "yes"`},
		"word as bool":      {"name: n\non: !!bool yes", `a.yaml:2:5: on: want true or false, got "yes"`},
		"string as list":    {"name: n\ntags: a", `a.yaml:2:7: tags: want a list, got "a"`},
		"list as mapping":   {"name: n\nlimits: [1]", `a.yaml:2:9: limits: want a mapping, got a list`},
		"text":              {"name: n\nallowed: [red, green]", `a.yaml:2:16: allowed[1]: "green" is not a colour: write red or blue`},
		"text of no string": {"name: n\nallowed: [red, 7]", `a.yaml:2:16: allowed[1]: "7" is not a colour: write red or blue`},
		"too big":           {"name: n\nlimits: {max: 99999999999999999999}", `a.yaml:2:15: limits.max: want a whole number, got 99999999999999999999`},
		"alias":             {"name: &x n\ncolour: *x", "a.yaml:1:7: name: anchors and aliases are not supported: write the value out\na.yaml:2:9: colour: anchors and aliases are not supported: write the value out"},
		"merge key":         {"name: n\n<<: {colour: red}", `a.yaml:2:1: want a field name, got a merge key, which is not supported`},
		"a tag":             {"name: !t n", `a.yaml:1:7: name: want a string, got one with the tag "!t": leave the tag out`},
		"validation":        {"name: n\nlimits:\n  max: 1\n  min: 2", "a.yaml:3:3: limits: limits cannot be met\na.yaml:4:8: limits.min: min 2 is above max 1"},
		"two at once":       {"name: n\ncolor: red\non: 1", "a.yaml:2:1: color: unknown field; did you mean colour?\na.yaml:3:5: on: want true or false, got 1"},
		"first line":        {"name: 'n", `a.yaml:1: not valid YAML: found unexpected end of stream`},
		"unknown anchor":    {"name: n\ncolour: *x\ntags: []\n", `a.yaml:2: not valid YAML: unknown anchor 'x' referenced; quote values that begin with *`},
		"control":           {"name: n\n---\nname: m\n\n#\x01\n---\n", `a.yaml:5: not valid YAML: control characters are not allowed`},
		"not UTF-8":         {"name: n\ntags: [\"\xff\"]\n", `a.yaml:2: not valid YAML: invalid leading UTF-8 octet`},
		"syntax":            {"name: n\n  tags: [", `a.yaml:2: not valid YAML: mapping values are not allowed in this context; check the indentation, and quote values that contain a colon and a space`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(t, test.text)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDocuments(t *testing.T) {
	d := NewDecoder(t.Context(), wide)
	n := 0
	for doc := range d.Documents(Source{File: "a.yaml", Data: []byte("# nothing\n---\nname: a\n---\n---\nname: b\ncolour: green\n")}) {
		var v thing
		if n++; d.Decode(doc, &v) != (n == 1) {
			t.Errorf("document %d: %+v", n, v)
		}
	}
	if n != 2 {
		t.Errorf("got %d documents, want 2", n)
	}
	if err := d.Errors().Errors(); !strings.HasPrefix(err.Error(), "a.yaml:7:9: colour:") {
		t.Errorf("lines must count from the top of the file, got %v", err)
	}
	for range d.Documents(Source{File: "empty.yaml"}) {
		t.Error("an empty file has a document")
	}
}

func TestErrorsAreSorted(t *testing.T) {
	var c Collector
	add := func(file string, line, column int) { c.Errorf(Pos{File: file, Line: line, Column: column}, "x") }
	add("b", 1, 1)
	add("a", 10, 1)
	add("a", 2, 7)
	add("a", 2, 5)
	if got, want := c.Errors().Error(), "a:2:5: x\na:2:7: x\na:10:1: x\nb:1:1: x"; got != want {
		t.Errorf("got %s", got)
	}
}

// The parser compares each directive with all earlier directives, so their number is limited. A percent sign elsewhere
// does not start a directive.
func TestDirectives(t *testing.T) {
	directives := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%%TAG !a%d! b\n", i)
		}
		return b.String() + strings.Repeat("# 100%\n", 2*n) + "---\nname: n\n"
	}
	if _, err := decode(t, directives(100)); err != nil {
		t.Error(err)
	}
	_, err := decode(t, directives(101))
	if err == nil || err.Error() != "a.yaml:101:1: a file has more than 100 directives, which is the limit" {
		t.Errorf("got %v", err)
	}
}

// After a limit is exceeded, nothing else is read: in the list, in the document, in the file, and in other files.
func TestLimitStops(t *testing.T) {
	limits := wide
	limits.Texts = 1
	d := NewDecoder(t.Context(), limits)
	const text = "name: n\nallowed: [red, blue, green]\nzebra: 1\n---\nzebra: 2\n"
	documents := 0
	for _, file := range []string{"a.yaml", "b.yaml"} {
		for doc := range d.Documents(Source{File: file, Data: []byte(text)}) {
			documents++
			d.Decode(doc, new(thing))
		}
	}
	const want = "a.yaml:2:16: allowed[1]: the policy has more than 1 patterns, which is the limit"
	if got := d.Errors().Errors().Error(); got != want || documents != 1 {
		t.Errorf("%d documents\ngot  %s\nwant %s", documents, got, want)
	}
}

// A hundred mistakes are reported and the others are counted. Each mistake is short.
func TestErrorsAreTruncated(t *testing.T) {
	var faults Faults
	for range 150 {
		faults.Add(errors.New("a"))
		faults.Fieldf("name", "b")
	}
	d := NewDecoder(t.Context(), wide)
	d.validation(&yaml.Node{}, nil, faults.Err())
	if kept := len(faults.kept); kept != 100 || d.Errors().Len() != 300 || d.Errors().Errors().Total() != 300 {
		t.Errorf("%d faults are kept, %d are counted", kept, d.Errors().Len())
	}
	for range 300 {
		faults.Fieldf("name", "b")
	}
	if kept := len(faults.kept); kept != 100 {
		t.Errorf("%d faults are kept", kept)
	}
	if got := len((Pos{}).Errorf("%s", strings.Repeat("x", 2000)).Msg); got != 1024 {
		t.Errorf("a sentence of %d bytes", got)
	}
	for range 20 {
		d.path = append(d.path, fieldSegment(strings.Repeat("x", 100)))
	}
	if got := len(d.pos(&yaml.Node{}).Path); got != 256 {
		t.Errorf("a path of %d bytes", got)
	}
}
