package plan

import (
	"bufio"
	"errors"
	"io"

	"github.com/evergate/evergate/offline/output"
)

// Stream writes each object as soon as it is found, and the counts at the end. It does not keep objects in memory.
type Stream struct {
	to      *bufio.Writer
	format  output.Format
	options output.Options
	written int
	err     error
}

// NewStream returns a Stream that writes text or JSON. Use its method Object as Options.Changed.
func NewStream(to io.Writer, f output.Format, o output.Options) *Stream {
	o.AllRows = true
	return &Stream{to: bufio.NewWriter(to), format: f, options: o}
}

// Object writes an object. End returns its error.
func (s *Stream) Object(o *Object) {
	if s.err != nil {
		return
	}
	if s.format == output.JSON {
		s.err = s.objectJSON(o)
	} else {
		p := output.Printer{Options: s.options}
		kind := o.Changes[0]
		o.writeText(&p, p.Paint(kind.tone(), kind.String())+": ")
		_, s.err = s.to.Write(p.Bytes())
	}
	s.written++
}

// objectJSON writes an object on its own line, as an element of the list at the beginning of the document.
func (s *Stream) objectJSON(o *Object) error {
	separator := ",\n"
	if s.written == 0 {
		separator = "{\"objects\": [\n"
	}
	data, err := output.JSONValue(o)
	_, failed := s.to.WriteString(separator + string(data))
	return errors.Join(err, failed)
}

// End writes the counts and returns the first error.
func (s *Stream) End(r *Report) error {
	switch {
	case s.err != nil:
	case s.format == output.JSON:
		s.err = s.endJSON(r)
	default:
		if s.written > 0 {
			_ = s.to.WriteByte('\n') // Flush returns its error
		}
		s.err = output.Write(s.to, output.Text, r, s.options)
	}
	return errors.Join(s.err, s.to.Flush())
}

// endJSON ends the list, and writes the other fields of the report.
func (s *Stream) endJSON(r *Report) error {
	fields, err := output.JSONValue(struct {
		*Report
		Objects []Object `json:"objects,omitempty"` // replaces the objects in the report
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
