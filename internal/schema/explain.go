package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// index matches an index in the path of a field, as in errors about policies: ingresses[0].hosts.
var index = regexp.MustCompile(`\[[0-9]*\]`)

// errNoField is the error about a path that begins or ends with a dot, or contains two in a row.
var errNoField = errors.New("pass the path of a field, such as ingresses.hosts.allowed, or no path")

// Find returns the schema of the field at a path such as ingresses.hosts, or the schema itself for the empty path. It
// ignores indices. The error about an unknown field suggests a similar field.
func (s *Schema) Find(path string) (*Schema, error) {
	if path == "" {
		return s, nil
	}
	at := ""
	for name := range strings.SplitSeq(index.ReplaceAllString(path, ""), ".") {
		fields := s.Inner().Fields
		switch {
		case name == "":
			return nil, errNoField
		case len(fields) == 0:
			return nil, fmt.Errorf("%s has no fields: it is of type %s", at, s.notation())
		case at != "":
			at += "."
		}
		at += text.Printable(name, text.Short)
		if s = fields[name]; s != nil {
			continue
		}
		known := slices.Sorted(maps.Keys(fields))
		if best := text.Nearest(name, known); best != "" {
			return nil, fmt.Errorf("%s: unknown field; did you mean %s?", at, best)
		}
		return nil, fmt.Errorf("%s: unknown field; known here: %s", at, strings.Join(known, ", "))
	}
	return s, nil
}

// Explain describes the field at a path, which Find reads, and lists its fields. If recursive is true, it lists all
// fields below it, without their descriptions.
func (s *Schema) Explain(path string, recursive bool) (string, error) {
	field, err := s.Find(path)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "KIND:      %s\nVERSION:   %s\n", s.Fields["kind"].Enum[0], s.Fields["apiVersion"].Enum[0])
	name := index.ReplaceAllString(path[strings.LastIndexByte(path, '.')+1:], "")
	if path != "" {
		fmt.Fprintf(&b, "\nFIELD: %s <%s>\n", name, field.notation())
	}
	b.WriteString("\nDESCRIPTION:\n" + wrap(field.Description, "    "))
	inner := field.Inner()
	if inner.Enum != nil {
		fmt.Fprintf(&b, "\nENUM:\n    %s\n", strings.Join(inner.Enum, "\n    "))
	}
	if field.Default != nil {
		fmt.Fprintf(&b, "\nDEFAULT:\n    %v\n", field.Default)
	}
	if inner.Pattern != "" {
		fmt.Fprintf(&b, "\nPATTERN:\n    %s\n", inner.Pattern)
	}
	for _, example := range field.Examples {
		if data, err := json.Marshal(example); err == nil {
			fmt.Fprintf(&b, "\nEXAMPLE:\n    %s: %s\n", name, data)
		}
	}
	if len(inner.Fields) > 0 {
		b.WriteString("\nFIELDS:\n")
		inner.list(&b, "  ", recursive)
	}
	return b.String(), nil
}

// list lists the fields of an object.
func (s *Schema) list(b *strings.Builder, indent string, recursive bool) {
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		field := s.Fields[name]
		fmt.Fprintf(b, "%s%s <%s>", indent, name, field.notation())
		if slices.Contains(s.Required, name) {
			b.WriteString(" -required-")
		}
		b.WriteString("\n")
		inner := field.Inner()
		if inner.Enum != nil {
			fmt.Fprintf(b, "%senum: %s\n", indent, strings.Join(inner.Enum, ", "))
		}
		if recursive {
			inner.list(b, indent+"  ", true)
			continue
		}
		b.WriteString(wrap(field.Description, indent+"    ") + "\n")
	}
}

// width is the length of a line in a description, in characters. Most terminals show such a line without wrapping.
const width = 100

// wrap wraps a text of several paragraphs to width.
func wrap(description, indent string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(description, "\n") {
		line := indent
		for word := range strings.FieldsSeq(paragraph) {
			if len(line) > len(indent) && len(line)+len(word) >= width {
				b.WriteString(strings.TrimRight(line, " ") + "\n")
				line = indent
			}
			line += word + " "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
