package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// Document is the schema of policy files, for queries about its fields.
type Document struct{ root *Schema }

// Parse parses the schema of policy files.
func Parse(data []byte) (*Document, error) {
	d := &Document{new(Schema)}
	if err := json.Unmarshal(data, d.root); err != nil {
		return nil, fmt.Errorf("read the schema of policies: %w", err)
	}
	return d, nil
}

// resolve returns a schema merged with the definition that it refers to. The schema's keywords override the
// definition's keywords.
func (d *Document) resolve(s *Schema) Schema {
	if s.Ref == "" {
		return *s
	}
	def := d.root.Definitions[strings.TrimPrefix(s.Ref, RefPrefix)]
	if def == nil {
		return *s
	}
	r := d.resolve(def)
	if s.Description != "" {
		r.Description = s.Description
	}
	if s.Examples != nil {
		r.Examples = s.Examples
	}
	return r
}

// inner returns the schema of the objects in a field, or in the elements of its list.
func (d *Document) inner(s *Schema) Schema {
	r := d.resolve(s)
	if r.Items != nil {
		return d.inner(r.Items)
	}
	return r
}

// typeOf returns the type of a field in the notation of kubectl explain: Object, []string.
func (d *Document) typeOf(s *Schema) string {
	r := d.resolve(s)
	switch {
	case r.Items != nil:
		return "[]" + d.typeOf(r.Items)
	case r.Type == "object":
		return "Object"
	}
	return r.Type
}

// wordsOf returns the words that are valid in a field, or in the elements of its list.
func (d *Document) wordsOf(s *Schema) []string {
	r := d.inner(s)
	if r.Const != "" {
		return []string{r.Const}
	}
	return r.Enum
}

// index matches an index in the path of a field, as in errors about policies: ingresses[0].hosts.
var index = regexp.MustCompile(`\[[0-9]*\]`)

// errNoField is the error about a path that begins or ends with a dot, or contains two in a row.
var errNoField = errors.New("pass the path of a field, such as ingresses.hosts.allowed, or no path")

// find returns the name and the schema of the field at a path. For the empty path, it returns the schema of a policy.
// It ignores indices.
func (d *Document) find(path string) (name string, s *Schema, err error) {
	s = d.root
	if path == "" {
		return "", s, nil
	}
	at := ""
	for segment := range strings.SplitSeq(index.ReplaceAllString(path, ""), ".") {
		if segment == "" {
			return "", nil, errNoField
		}
		fields := d.inner(s).Fields
		if len(fields) == 0 {
			return "", nil, fmt.Errorf("%s has no fields: it is of type %s", at, d.typeOf(s))
		}
		if at != "" {
			at += "."
		}
		at += text.Printable(segment, text.Short)
		if s = fields.Find(segment); s == nil {
			return "", nil, fmt.Errorf("%s: unknown field%s", at, suggest(segment, fields.Names()))
		}
		name = segment
	}
	return name, s, nil
}

// suggest returns the end of the sentence about an unknown field, in the style of errors about policies.
func suggest(unknown string, known []string) string {
	if best := text.Nearest(unknown, known); best != "" {
		return "; did you mean " + best + "?"
	}
	return "; known here: " + strings.Join(known, ", ")
}

// Fields returns the names of the fields below a path, or nil if there is no such path.
func (d *Document) Fields(path string) []string {
	_, s, err := d.find(path)
	if err != nil {
		return nil
	}
	return d.inner(s).Fields.Names()
}

// Explain describes the field at a path, such as ingresses.hosts, and lists its fields. The empty path is the policy
// itself. If recursive is true, Explain lists all fields below it, without their descriptions. The error about an
// unknown field suggests a similar field.
func (d *Document) Explain(path string, recursive bool) (string, error) {
	name, s, err := d.find(path)
	if err != nil {
		return "", err
	}
	e := explanation{Document: d}
	e.head(name, s)
	if fields := d.inner(s); len(fields.Fields) > 0 {
		e.WriteString("\nFIELDS:\n")
		e.fields(&fields, "  ", recursive)
	}
	return e.String(), nil
}

// explanation is the text about a field.
type explanation struct {
	*Document
	strings.Builder
}

// width is the length of a line in a description, in characters. Most terminals show such a line without wrapping.
const width = 100

func (e *explanation) head(name string, s *Schema) {
	r := e.resolve(s)
	for _, field := range []string{"kind", "apiVersion"} {
		label := map[string]string{"kind": "KIND:", "apiVersion": "VERSION:"}[field]
		fmt.Fprintf(e, "%-9s  %s\n", label, e.root.Fields.Find(field).Const)
	}
	if name != "" {
		fmt.Fprintf(e, "\nFIELD: %s <%s>\n", name, e.typeOf(s))
	}
	e.WriteString("\nDESCRIPTION:\n")
	e.wrapped(r.Description, "    ")
	if words := e.wordsOf(s); words != nil {
		fmt.Fprintf(e, "\nENUM:\n    %s\n", strings.Join(words, "\n    "))
	}
	if r.Default != nil {
		fmt.Fprintf(e, "\nDEFAULT:\n    %v\n", r.Default)
	}
	if pattern := e.inner(s).Pattern; pattern != "" {
		fmt.Fprintf(e, "\nPATTERN:\n    %s\n", pattern)
	}
	for _, example := range r.Examples {
		if data, err := json.Marshal(example); err == nil {
			fmt.Fprintf(e, "\nEXAMPLE:\n    %s: %s\n", name, data)
		}
	}
}

// fields lists the fields of an object.
func (e *explanation) fields(object *Schema, indent string, recursive bool) {
	for _, f := range object.Fields {
		fmt.Fprintf(e, "%s%s <%s>", indent, f.Name, e.typeOf(f.Schema))
		if slices.Contains(object.Required, f.Name) {
			e.WriteString(" -required-")
		}
		e.WriteString("\n")
		if words := e.wordsOf(f.Schema); words != nil {
			fmt.Fprintf(e, "%senum: %s\n", indent, strings.Join(words, ", "))
		}
		if recursive {
			inner := e.inner(f.Schema)
			e.fields(&inner, indent+"  ", true)
			continue
		}
		e.wrapped(e.resolve(f.Schema).Description, indent+"    ")
		e.WriteString("\n")
	}
}

// wrapped writes a text of several paragraphs, wrapped to width.
func (e *explanation) wrapped(description, indent string) {
	for paragraph := range strings.SplitSeq(description, "\n") {
		line := indent
		for word := range strings.FieldsSeq(paragraph) {
			if len(line) > len(indent) && len(line)+len(word) >= width {
				e.WriteString(strings.TrimRight(line, " ") + "\n")
				line = indent
			}
			line += word + " "
		}
		e.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
