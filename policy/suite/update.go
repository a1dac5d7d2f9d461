package suite

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Change is what is expected of a case from now on: of these fields, the values in Expect. A field that the case lacks
// is added to it.
type Change struct {
	Case   int // of the suite
	Fields []string
	Expect
}

// Update returns the text of the suite with changes. Comments, the order of fields and all that is not changed stay as
// they are written.
func (s *Suite) Update(changes []Change) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(s.data, &root); err != nil {
		return nil, fmt.Errorf("%s: %w", s.File, err)
	}
	cases := fieldOf(root.Content[0], "cases")
	e := editor{lines: strings.SplitAfter(string(s.data), "\n")}
	// From the end, so that lines before a change keep their numbers.
	for _, c := range slices.Backward(changes) {
		if err := e.change(cases, &c); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", s.File, s.Cases[c.Case].Place.Line, err)
		}
	}
	text := []byte(strings.Join(e.lines, ""))
	again, err := Decode(s.File, text)
	if err != nil {
		return nil, fmt.Errorf("with what is expected, the suite could not be read: %w", err)
	}
	for _, c := range changes {
		for _, field := range c.Fields {
			got := again.Cases[c.Case].Expect.Lines(field)
			if !slices.Equal(got, c.Lines(field)) {
				return nil, fmt.Errorf("%s:%d: %s could not be written: write %s yourself", s.File,
					s.Cases[c.Case].Place.Line, field, strings.Join(c.Lines(field), " "))
			}
		}
	}
	return text, nil
}

// fieldOf returns a value of a mapping; nil where there is none.
func fieldOf(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// editor replaces lines of a text.
type editor struct{ lines []string }

// change writes the fields of a case.
func (e *editor) change(cases *yaml.Node, c *Change) error {
	written := cases.Content[c.Case]
	if written.Style&yaml.FlowStyle != 0 || cases.Style&yaml.FlowStyle != 0 {
		return fmt.Errorf("the case stands in braces: write its fields a line each, and then update it")
	}
	fields := e.fieldsOf(cases, c.Case)
	indent := written.Content[0].Column - 1
	var missing []string
	for _, name := range c.Fields {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			missing = append(missing, name)
		}
	}
	last := fields[len(fields)-1]
	var added []string
	for _, name := range missing {
		added = append(added, e.indented(c.Lines(name), indent)...)
	}
	if len(added) > 0 {
		e.endLine(last.to - 1)
		e.lines = slices.Insert(e.lines, last.to, added...)
	}
	for _, f := range slices.Backward(fields) {
		if slices.Contains(c.Fields, f.name) {
			e.replace(f, c.Lines(f.name), indent)
		}
	}
	return nil
}

// field is a field of a case, and its lines.
type field struct {
	name     string
	from, to int // of editor.lines
	comment  string
}

// fieldsOf returns the fields of a case. Comments and blank lines below one belong to what follows.
func (e *editor) fieldsOf(cases *yaml.Node, at int) []field {
	end := len(e.lines)
	if at+1 < len(cases.Content) {
		end = cases.Content[at+1].Line - 1
	} else if next := e.outdented(cases); next > 0 {
		end = next
	}
	var fields []field
	written := cases.Content[at].Content
	for i := 0; i+1 < len(written); i += 2 {
		f := field{name: written[i].Value, from: written[i].Line - 1, to: end}
		if i+2 < len(written) {
			f.to = written[i+2].Line - 1
		}
		for f.to-1 > f.from && e.isTrivia(f.to-1) {
			f.to--
		}
		for _, n := range []*yaml.Node{written[i], written[i+1]} {
			if f.comment == "" {
				f.comment = n.LineComment
			}
		}
		fields = append(fields, f)
	}
	return fields
}

// outdented returns the first line after the last case that belongs to another field of the suite; 0 for none.
func (e *editor) outdented(cases *yaml.Node) int {
	last := cases.Content[len(cases.Content)-1]
	for i := last.Line; i < len(e.lines); i++ {
		line := e.lines[i]
		if !e.isTrivia(i) && len(line) > 0 && line[0] != ' ' && line[0] != '-' {
			return i
		}
	}
	return 0
}

func (e *editor) isTrivia(i int) bool {
	line := strings.TrimSpace(e.lines[i])
	return line == "" || line[0] == '#'
}

// replace writes lines in place of those of a field. What stands before its name, a hyphen, stays, and so does its
// comment.
func (e *editor) replace(f field, lines []string, indent int) {
	before := e.lines[f.from][:indent]
	e.endLine(f.to - 1)
	written := e.indented(lines, indent)
	written[0] = before + written[0][indent:]
	if f.comment != "" {
		written[0] = strings.TrimSuffix(written[0], "\n") + " " + f.comment + "\n"
	}
	e.lines = slices.Replace(e.lines, f.from, f.to, written...)
}

func (e *editor) indented(lines []string, indent int) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = strings.Repeat(" ", indent) + line + "\n"
	}
	return all
}

// endLine ends the last line of a text that lacks its end.
func (e *editor) endLine(i int) {
	if !bytes.HasSuffix([]byte(e.lines[i]), []byte("\n")) {
		e.lines[i] += "\n"
	}
}
