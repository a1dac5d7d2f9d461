package offline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/internal/text"
)

// jsonStream reads the objects of JSON text one at a time, including the items of a List. A List of a whole cluster is
// therefore never completely in memory. It searches for the end of each value, which is several times as fast as a
// decoder. It does not look for duplicate names. If a duplicate field affects a decision, the code that decides reports
// it.
type jsonStream struct {
	r     io.Reader
	data  []byte // of r; everything before pos has been read
	pos   int
	line  int         // of pos
	err   error       // the reason why r has ended
	at    Origin      // of the object that is being read; Document counts the documents begun
	fixed int         // the line of all objects; 0 if they have the lines of the text
	yaml  *yamlStream // reads the rest, which is not JSON; otherwise nil

	continued string // metadata.continue of the last List
}

const (
	// maxJSON limits one object, or a member of a List, in bytes. It is many times the size of an object that a cluster
	// can store (1.5 MiB).
	maxJSON = 64 << 20
	// firstRead is the number of bytes that are read at a time: about 20 objects.
	firstRead = 256 << 10
)

var errLongJSON = errors.New("longer than 64 MiB: a cluster cannot store such an object")

func newJSONStream(r io.Reader, at Origin) *jsonStream { return &jsonStream{r: r, at: at, line: 1} }

func (s *jsonStream) documents() int {
	if s.yaml != nil {
		return s.yaml.documents()
	}
	return s.at.Document
}

// headBytes are enough to see past the blank lines that a file may begin with, and some words of YAML.
const headBytes = 1 << 10

// beginsJSON reports whether a text begins like JSON, as far as it goes. {kind: Pod} and [a,] are YAML.
func beginsJSON(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != '{' && head[0] != '[' {
		return false
	}
	dec := jsontext.NewDecoder(bytes.NewReader(head), jsontext.AllowDuplicateNames(true))
	for {
		if _, err := dec.ReadToken(); err != nil || dec.StackDepth() == 0 {
			return err == nil || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

// errStop is the error if the receiver of objects wants no more.
var errStop = errors.New("stop")

// each yields the objects. After an error it continues with the next object, unless the text is not JSON.
func (s *jsonStream) each(yield yieldFunc) bool {
	s.fill()
	switch {
	case s.fixed > 0:
	case text.IsUTF16(s.data):
		s.at.Document = 1
		return yield(Object{}, &inputError{Origin: s.at, Err: errUTF16})
	case strings.HasPrefix(strings.ToLower(path.Ext(s.at.File)), ".y"), !beginsJSON(s.data[:min(len(s.data), headBytes)]):
		s.yaml = newYAMLStream(io.MultiReader(bytes.NewReader(s.data), s.r), s.at)
		return s.yaml.each(yield)
	}
	for {
		switch err := s.document(yield); {
		case err == nil:
		case errors.Is(err, errStop):
			return false
		case errors.Is(err, io.EOF):
			return s.yaml == nil || s.yaml.each(yield)
		default:
			return yield(Object{}, err) // the text after malformed JSON cannot be trusted
		}
	}
}

// document reads the next document. Like kubectl, it reads text that does not continue with JSON as YAML.
func (s *jsonStream) document(yield yieldFunc) error {
	first := s.peek()
	switch {
	case first == 0 && errors.Is(s.err, io.EOF) && s.pos == len(s.data):
		return io.EOF
	case s.fixed == 0 && first != '{' && first != '[' && first != 0:
		s.yaml = newYAMLStream(io.MultiReader(bytes.NewReader(s.data[s.pos:]), s.r), s.at)
		s.yaml.split.read, s.yaml.split.doc.line = s.line-1, s.line
		return io.EOF
	}
	s.at.Document, s.at.Item = s.at.Document+1, 0
	s.mark()
	if first == '{' {
		l := jsonList{jsonStream: s, begin: s.at}
		return l.read(yield)
	}
	value, err := s.value()
	if err != nil {
		return err
	}
	what := kindWord(value.Kind()) + " is not a Kubernetes object"
	if first == '[' {
		what += ": make it the items of a v1 List"
	}
	return send(yield, Object{}, &inputError{Origin: s.at, Err: errors.New(what), foreign: true})
}

func send(yield yieldFunc, object Object, err error) error {
	if !yield(object, err) {
		return errStop
	}
	return nil
}

// peek returns the next byte that is not white space, or 0 at the end.
func (s *jsonStream) peek() byte {
	for {
		s.advance(jsonscan.Space(s.data, s.pos))
		if s.pos < len(s.data) {
			return s.data[s.pos]
		}
		if !s.fill() {
			return 0
		}
	}
}

// advance counts the lines before a position.
func (s *jsonStream) advance(to int) {
	s.line += bytes.Count(s.data[s.pos:to], []byte{'\n'})
	s.pos = to
}

// mark sets the line of the object that is being read.
func (s *jsonStream) mark() {
	if s.at.Line = s.line; s.fixed > 0 {
		s.at.Line = s.fixed
	}
}

// value returns the next value. It is valid until more is read.
func (s *jsonStream) value() (jsontext.Value, error) {
	s.peek()
	for {
		end := jsonscan.Skip(s.data, s.pos)
		if end > 0 && (end < len(s.data) || s.err != nil) && utf8.Valid(s.data[s.pos:end]) {
			value := s.data[s.pos:end]
			s.advance(end)
			return value, nil
		}
		if !s.fill() {
			dec := jsontext.NewDecoder(bytes.NewReader(s.data[s.pos:]), jsontext.AllowDuplicateNames(true))
			return nil, s.broken(dec.SkipValue())
		}
	}
}

// more reads a comma or the end of an object or a list, and reports whether a member or an item follows.
func (s *jsonStream) more(first bool, end byte) (bool, error) {
	c := s.peek()
	if c == end || c == ',' && !first {
		s.pos++
	}
	if c == end || c == ',' || first {
		return c != end, nil
	}
	return false, s.unexpected("a comma")
}

// unexpected returns the error about the next byte.
func (s *jsonStream) unexpected(wanted string) error {
	c := s.peek()
	if c == 0 {
		return s.broken(io.EOF)
	}
	return s.broken(fmt.Errorf("not JSON: %s instead of %s", text.QuoteRune(rune(c)), wanted))
}

// broken returns the error about text that is not JSON, or cannot be read to its end.
func (s *jsonStream) broken(err error) error {
	s.mark()
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		s.at.Line += bytes.Count(s.data[s.pos:][:syntactic.ByteOffset], []byte{'\n'})
	}
	switch truncated := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF); {
	case truncated && !errors.Is(s.err, io.EOF):
		return &inputError{Origin: s.at, Err: s.err}
	case truncated:
		err = io.ErrUnexpectedEOF
	}
	return &inputError{Origin: s.at, Err: errors.New(describe(err)), unparsed: true}
}

// fill reads more of the text. It reports whether there was more.
func (s *jsonStream) fill() bool {
	if s.err == nil && len(s.data)-s.pos > maxJSON {
		s.err = errLongJSON
	}
	if s.err != nil {
		return false
	}
	n := copy(s.data, s.data[s.pos:])
	s.data, s.pos = s.data[:n], 0
	if cap(s.data)-n < firstRead/2 {
		s.data = slices.Grow(s.data, max(firstRead, n)) // doubling the buffer bounds the data that is searched again
	}
	n, err := io.ReadAtLeast(s.r, s.data[n:cap(s.data)], firstRead/2)
	s.data = s.data[:len(s.data)+n]
	if s.err = err; errors.Is(err, io.ErrUnexpectedEOF) { // the last read may be short
		s.err = io.EOF
	}
	return true
}
