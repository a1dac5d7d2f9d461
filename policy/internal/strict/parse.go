package strict

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
)

// Source is a file, or a block in a file.
type Source struct {
	File string
	Data []byte
	// Lines is the number of lines in the file before the block. Columns is the number of characters in front of each line
	// of the block.
	Lines, Columns int
}

// line returns the line of the file that corresponds to a line of the block.
func (s Source) line(line int) int { return s.Lines + line }

// Pos returns the position in the file that corresponds to a position in the block.
func (s Source) Pos(line, column int) Pos {
	return Pos{File: s.File, Line: s.line(line), Column: s.Columns + column}
}

// Documents yields the YAML documents of a file. It parses them one after the other to keep only one in memory. It
// skips documents that are empty or contain only comments.
func (d *Decoder) Documents(s Source) func(yield func(Document) bool) {
	return func(yield func(Document) bool) {
		if d.Stopped() {
			return
		}
		d.source = s
		if text.IsUTF16(s.Data) { // the YAML library reads it, but kubectl cannot store it in data of a ConfigMap
			d.errs.Add(s.Pos(1, 1).Errorf("the input is UTF-16: save it as UTF-8"))
			return
		}
		m := &meter{ctx: d.ctx, data: s.Data, values: &d.values, limits: &d.limits, bol: true}
		dec := yaml.NewDecoder(m)
		for {
			root, err := next(dec)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				d.notYAML(m, err)
				return
			}
			empty := root.Kind == yaml.ScalarNode && root.Tag == "!!null"
			if !empty && !yield(Document{root}) || d.Stopped() {
				return
			}
		}
	}
}

func next(dec *yaml.Decoder) (*yaml.Node, error) {
	var n yaml.Node
	if err := dec.Decode(&n); err != nil {
		return nil, err
	}
	return n.Content[0], nil
}

// notYAML adds an error about a file that was not parsed to its end. If the context is done, it records the cause
// instead.
func (d *Decoder) notYAML(m *meter, err error) {
	limit, exceeded := errors.AsType[limitError](m.err)
	switch {
	case exceeded:
		d.exceed(d.source.Pos(lineAt(m.data, m.given), 1), limit)
	case m.err != nil:
		d.stopped = context.Cause(d.ctx)
	default:
		d.errs.Add(d.syntaxError(m, err))
	}
}

// isTruncatedJSON reports whether a text is the beginning of a JSON object with a member, and ends within it.
func isTruncatedJSON(data []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(data), []byte{'{'})
	if !ok || !bytes.HasPrefix(bytes.TrimSpace(rest), []byte{'"'}) {
		return false
	}
	dec := jsontext.NewDecoder(bytes.NewReader(bytes.TrimSpace(data)), jsontext.AllowDuplicateNames(true))
	for {
		switch _, err := dec.ReadToken(); {
		case err != nil:
			return errors.Is(err, io.ErrUnexpectedEOF)
		case dec.StackDepth() == 0:
			return false
		}
	}
}

// syntaxError returns the parser's error at its line. The parser does not report a column.
func (d *Decoder) syntaxError(m *meter, err error) Error {
	if isTruncatedJSON(m.data) {
		end := lineAt(m.data, len(trimRight(m.data)))
		pos := Pos{File: d.source.File, Line: d.source.line(end)}
		return pos.Errorf("not valid YAML: the JSON is truncated: it ends before the object does")
	}
	msg, line := splitError(err)
	read := trimRight(m.data[:m.given])
	if name, ok := strings.CutPrefix(msg, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		read = read[:max(0, bytes.LastIndex(read, []byte("*"+name)))]
		msg += "; quote values that begin with *"
	}
	if line == 0 {
		line = lineAt(m.data, len(read))
	}
	pos := Pos{File: d.source.File, Line: d.source.line(line)}
	return pos.Errorf("not valid YAML: %s", text.Printable(msg, maxMsg/2))
}

// splitError returns the message of a parser error with advice, and its line. The line is 0 if the parser does not
// report the line of the mistake.
func splitError(err error) (msg string, line int) {
	msg = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(msg, "line "); ok {
		if number, after, ok := strings.Cut(rest, ": "); ok {
			line, _ = strconv.Atoi(number)
			msg = after
		}
	}
	switch msg {
	case "found character that cannot start any token":
		msg += "; indent with spaces instead of tabs, and quote values that begin with @, % or a backquote"
	case "mapping values are not allowed in this context":
		msg += "; check the indentation, and quote values that contain a colon and a space"
	case "did not find expected alphabetic or numeric character":
		msg += "; quote values that begin with *"
	case "did not find expected key", "did not find expected '-' indicator", "did not find expected ',' or ']'",
		"did not find expected ',' or '}'", "did not find expected node content":
		line = 0 // it is the line before the list or mapping with the mistake
	}
	return msg, line
}

// trimRight returns data without the white space at its end. An offset in the result is an offset in data.
func trimRight(data []byte) []byte { return bytes.TrimRightFunc(data, unicode.IsSpace) }

// lineAt returns the line of the byte at offset i.
func lineAt(data []byte, i int) int { return 1 + bytes.Count(data[:i], []byte("\n")) }
