package plan

import (
	"bufio"
	"errors"
	"io"

	"github.com/evergate/evergate/internal/output"
	"github.com/evergate/evergate/internal/text"
)

// Stream writes objects as they are found, so that none is kept, and then the counts.
type Stream struct {
	to      *bufio.Writer
	format  output.Format
	options TextOptions
	written int
	err     error
}

// NewStream returns a Stream of text or JSON. Its method Object is for Options.Changed.
func NewStream(to io.Writer, f output.Format, colors text.Colors) *Stream {
	return &Stream{to: bufio.NewWriter(to), format: f, options: TextOptions{Colors: colors, All: true}}
}

// Object writes an object. Its error comes from End.
func (s *Stream) Object(o *Object) {
	if s.err != nil {
		return
	}
	if s.format == output.JSON {
		s.err = s.objectJSON(o)
	} else {
		w := textWriter{colors: s.options.Colors}
		kind := o.Changes[0]
		w.object(o, kind.color(w.colors)(kind.String())+": ")
		_, s.err = s.to.Write(w.Bytes())
	}
	s.written++
}

// objectJSON writes an object as an element of the list that the document begins with, one a line.
func (s *Stream) objectJSON(o *Object) error {
	separator := ",\n"
	if s.written == 0 {
		separator = "{\"objects\": [\n"
	}
	data, err := output.JSONValue(o)
	_, failed := s.to.WriteString(separator + string(data))
	return errors.Join(err, failed)
}

// End writes the counts.
func (s *Stream) End(r *Report) error {
	if s.err == nil && s.format == output.JSON {
		s.err = s.endJSON(r)
	} else if s.err == nil {
		if s.written > 0 {
			_ = s.to.WriteByte('\n') // Flush returns its error
		}
		s.err = r.WriteText(s.to, s.options)
	}
	return errors.Join(s.err, s.to.Flush())
}

// endJSON ends the list, and writes the other fields of the report.
func (s *Stream) endJSON(r *Report) error {
	fields, err := output.JSONValue(struct {
		*Report
		Objects []Object `json:"objects,omitempty"` // in place of those of the report
	}{Report: r})
	if err != nil {
		return err
	}
	begin := "\n],\n"
	if s.written == 0 {
		begin = "{\"objects\": [],\n"
	}
	_, err = s.to.WriteString(begin + string(fields[len("{"):]) + "\n")
	return err
}
