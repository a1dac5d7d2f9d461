// Package layout formats YAML files: the fields of mappings in a given order, two spaces for each level, lists as deep
// as their key, no two blank lines in a row. It moves lines of the text and never prints a value anew, so that quotes,
// numbers and comments stay as they are written.
//
// A comment belongs to the line below it, and moves with that; one that is indented deeper than the next line belongs
// to what is above it. What stands above the first field of a document stays there. A list or a mapping in brackets is
// formatted where it stands in one line, and otherwise left as it is.
//
//	layout.go  files and documents
//	block.go   mappings and lists of several lines
//	flow.go    lists and mappings in brackets
//	equal.go   whether two files have the same values
package layout

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Order is the order of the fields of a mapping, and of those below.
type Order struct {
	Names []string
	// Inner has the order of the fields of a field, itself or as elements of a list; nil for one without fields.
	Inner map[string]*Order
}

// of returns the order of the fields below a field.
func (o *Order) of(name string) *Order {
	if o == nil {
		return nil
	}
	return o.Inner[name]
}

// rank returns the place of a field in the order. Unknown ones come last.
func (o *Order) rank(name string) int {
	if o == nil {
		return 0
	}
	for i, known := range o.Names {
		if known == name {
			return i
		}
	}
	return len(o.Names)
}

// Format returns the text of a YAML file, formatted. The error has the line of what cannot be formatted. The result has
// the same values: where it had not, that is an error too.
func Format(data []byte, order *Order) ([]byte, error) {
	text, err := unixLines(data)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range segmentsOf(strings.Split(text, "\n")) {
		lines, err := s.format(order)
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
	}
	result := []byte(strings.Join(append(trimBlank(out), ""), "\n"))
	same, err := equal(data, result)
	if err != nil {
		return nil, fmt.Errorf("formatted, it would not be YAML: %w", err)
	}
	if !same {
		return nil, errors.New("formatted, it would mean something else")
	}
	return result, nil
}

// unixLines returns a text whose lines end as those of Unix.
func unixLines(data []byte) (string, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	if i := strings.IndexAny(text, "\r\u0085\u2028\u2029\ufeff"); i >= 0 {
		return "", lineError(strings.Count(text[:i], "\n"), "a line ends with neither LF nor CRLF")
	}
	return text, nil
}

// lineError is an error about a line, counted from 0.
func lineError(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", line+1, fmt.Sprintf(format, args...))
}

// segment is the lines of a file from a marker of documents to the next one.
type segment struct {
	first  int    // the line of the file that lines begin with
	marker string // empty for the beginning of a file
	lines  []string
}

func segmentsOf(lines []string) []segment {
	segments := []segment{{}}
	for i, line := range lines {
		if isMarker(line) {
			segments = append(segments, segment{first: i + 1, marker: strings.TrimRight(line, " \t")})
			continue
		}
		last := &segments[len(segments)-1]
		last.lines = append(last.lines, line)
	}
	return segments
}

// isMarker reports whether a line begins or ends a document.
func isMarker(line string) bool {
	return (strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...")) &&
		(len(line) == 3 || line[3] == ' ' || line[3] == '\t')
}

// format returns the lines of a segment, with its marker. A document that is not a mapping of several lines stays as it
// is.
func (s *segment) format(order *Order) ([]string, error) {
	var out []string
	if s.marker != "" {
		out = append(out, s.marker)
	}
	rest := strings.TrimSpace(strings.TrimLeft(s.marker, "-."))
	asWritten := rest != "" && rest[0] != '#'
	for _, line := range s.lines {
		asWritten = asWritten || strings.HasPrefix(line, "%")
	}
	if asWritten {
		return append(out, s.lines...), nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(strings.Join(s.lines, "\n")), &root); err != nil {
		return nil, fmt.Errorf("from line %d on: %w", s.first+1, err)
	}
	f := &formatter{segment: *s}
	switch {
	case len(root.Content) == 0: // comments, or nothing
		f.trivia(0, len(s.lines), 0)
	case !isBlock(root.Content[0], yaml.MappingNode):
		return append(out, s.lines...), nil
	default:
		f.document(root.Content[0], order)
	}
	if f.err != nil {
		return nil, f.err
	}
	return append(out, trimBlank(collapsed(f.out))...), nil
}

// trimBlank removes blank lines at both ends.
func trimBlank(lines []string) []string {
	for len(lines) > 0 && isBlank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && isBlank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// written is a line of the result.
type written struct {
	text  string
	fixed bool // it is part of a value of several lines
}

// collapsed makes one blank line out of several, except within values.
func collapsed(lines []written) []string {
	var out []string
	for i, l := range lines {
		if l.text == "" && !l.fixed && i > 0 && lines[i-1].text == "" && !lines[i-1].fixed {
			continue
		}
		out = append(out, l.text)
	}
	return out
}

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

func isComment(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") }

// indentOf returns how many spaces a line begins with.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// isBlock reports whether a node is a mapping or a list of several lines, rather than one in brackets.
func isBlock(n *yaml.Node, kind yaml.Kind) bool {
	return n.Kind == kind && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0
}
