package strict

import (
	"context"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
)

// Source is a file, or a block of one.
type Source struct {
	File string
	Data []byte
	// Lines are how many lines of the file stand before the block, Columns how many characters before each of its lines.
	Lines, Columns int
}

// line returns the line of the file that is a line of the block.
func (s Source) line(line int) int { return s.Lines + line }

// Pos returns the position in the file of a position in the block.
func (s Source) Pos(line, column int) Pos {
	return Pos{File: s.File, Line: s.line(line), Column: s.Columns + column}
}

// Documents yields the YAML documents of a file, one after the other, so that only one is in memory at a time. It skips
// those that are empty or have only comments.
func (d *Decoder) Documents(s Source) func(yield func(Document) bool) {
	return func(yield func(Document) bool) {
		if d.Stopped() {
			return
		}
		d.source = s
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

// notYAML files an error about a file that was not parsed to its end.
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

// syntaxError returns the parser's error at its place, so that it has the form of all others.
func (d *Decoder) syntaxError(m *meter, err error) Error {
	if text.IsUTF16(m.data) {
		return d.source.Pos(1, 1).Errorf("not valid YAML: the text is UTF-16: save it as UTF-8")
	}
	msg, line := splitError(err)
	at := locate(d.ctx, d.source, msg, line, m.given)
	pos := d.source.Pos(lineAt(m.data, at.offset), columnAt(m.data, at.offset))
	return pos.Errorf("not valid YAML: %s", text.Printable(at.msg, maxMsg/2))
}
