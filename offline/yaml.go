package offline

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// maxYAML limits one YAML document, in bytes. The decoder builds a tree, which takes about 50 times the size of the
// text. 32 MiB is far more than a cluster can store as one object (1.5 MiB). Longer Lists can be given as JSON, which
// is read piece by piece.
const maxYAML = 32 << 20

// yamlStream reads the objects of YAML text. A document contains one object or a List.
type yamlStream struct {
	split yamlSplitter
	at    Origin
	nulls int // how many of the documents are null; kubectl skips them
}

func newYAMLStream(r io.Reader, at Origin) *yamlStream {
	return &yamlStream{split: yamlSplitter{r: bufio.NewReader(r)}, at: at}
}

func (s *yamlStream) documents() int { return s.at.Document - s.nulls }

// each yields the objects. An error leaves out one document or item. As in kubectl, the last of several equal keys of a
// mapping counts, and a merge key replaces the keys before it.
func (s *yamlStream) each(yield yieldFunc) bool {
	for {
		doc, err := s.split.next()
		if err == io.EOF { //nolint:errorlint // next promises io.EOF itself
			return true
		}
		s.at.Document, s.at.Line = s.at.Document+1, doc.line
		var data []byte
		if err != nil {
			err = s.at.fileError(err)
		} else if data, err = yaml.YAMLToJSON(doc.text); err != nil {
			err = s.at.documentError(doc, err)
		}
		if string(data) == "null" {
			s.nulls++
			continue
		}
		// A buffer for each document would take longer than reading it.
		json := jsonStream{data: data, err: io.EOF, at: s.at, fixed: doc.line}
		json.at.Document-- // the stream counts the document again
		if err != nil && !yield(Object{}, err) || err == nil && !json.each(yield) {
			return false
		}
	}
}

// withoutGoValues returns the message of an error of the YAML library, which prints some keys as values of Go.
func withoutGoValues(err error) string {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.Contains(message, "invalid map key") || strings.Contains(message, "unsupported map key") {
		return "a key is a mapping or a list, but must be a string"
	}
	return text.Truncate(message, 2*text.Short)
}

// documentError returns an error about a document that is not YAML. For a template, it includes a hint. The line of a
// syntax error is from policy.SyntaxError, because the library returns the line of the collection around it.
func (o Origin) documentError(doc yamlDocument, err error) error {
	message := withoutGoValues(err)
	if syntax := policy.SyntaxError(policy.File{Data: doc.text, Lines: doc.line - 1}); syntax != nil {
		p := policy.Problems(syntax)[0]
		if precise, ok := strings.CutPrefix(p.Message, "not valid YAML: "); ok { // and not the limits of a policy
			o.Line, message = p.Line, precise
		}
	}
	if hasAction(doc.text) {
		message += "; it contains {{, like a template: render it first, for example with helm template"
	}
	return &inputError{Origin: o, Err: errors.New("not YAML: " + message), unparsed: true}
}

// yamlSplitter splits a YAML file into its documents. A line that begins with --- begins a document and belongs to
// it, because content may follow the marker. A line that begins with ... ends a document.
type yamlSplitter struct {
	r    *bufio.Reader
	read int          // the number of lines read
	doc  yamlDocument // that is being read
	end  bool
}

type yamlDocument struct {
	text []byte
	line int // the line of the file at which the text begins
}

// next returns the next document that has content, or io.EOF.
func (s *yamlSplitter) next() (yamlDocument, error) {
	for !s.end {
		line, err := s.line()
		s.end = err != nil
		if err != nil && !errors.Is(err, io.EOF) {
			return s.take(nil), err
		}
		s.read++
		switch {
		case s.read == 1:
			s.doc = yamlDocument{bytes.TrimPrefix(line, []byte("\ufeff")), 1}
		case isMarker(line, "---"), isMarker(line, "..."):
			if doc := s.take(line); len(doc.text) > 0 {
				return doc, nil
			}
		case len(s.doc.text)+len(line) > maxYAML:
			s.end = true
			return s.take(nil), errLongYAML
		default:
			s.doc.text = append(s.doc.text, line...)
		}
	}
	if doc := s.take(nil); len(doc.text) > 0 {
		return doc, nil
	}
	return yamlDocument{}, io.EOF
}

var errLongYAML = errors.New("longer than 32 MiB: write it as JSON, which is read piece by piece")

// line returns the next line, and io.EOF with the last line. A line that is longer than maxYAML is an error.
func (s *yamlSplitter) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		case len(line) > maxYAML:
			return nil, errLongYAML
		}
	}
}

// take returns the document that has been read, and begins another document with a line.
func (s *yamlSplitter) take(line []byte) yamlDocument {
	doc := s.doc
	s.doc = yamlDocument{line, s.read}
	return doc.trim()
}

// isMarker reports whether a line consists of a document marker, or begins with the marker and white space.
func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// trim returns d without the lines before its content: blank lines, comments, directives and markers. Templates often
// render documents that contain nothing else.
func (d yamlDocument) trim() yamlDocument {
	for len(d.text) > 0 {
		line, rest, _ := bytes.Cut(d.text, []byte{'\n'})
		if isMarker(line, "---") || isMarker(line, "...") {
			line = line[3:]
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && line[0] != '%' {
			break
		}
		d.text, d.line = rest, d.line+1
	}
	return d
}
