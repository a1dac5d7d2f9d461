package plan

import (
	"bufio"
	"errors"
	"io"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/output"
)

// Stream writes each object as soon as it is found, and the counts at the end. It does not keep objects in memory.
type Stream struct {
	to      *bufio.Writer
	format  output.Format
	options TextOptions
	written int
	err     error
}

// NewStream returns a Stream that writes text or JSON. Use its method Object as Options.Changed.
func NewStream(to io.Writer, f output.Format, colors text.Colors) *Stream {
	return &Stream{to: bufio.NewWriter(to), format: f, options: TextOptions{Colors: colors, All: true}}
}

// Object writes an object. End returns its error.
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
