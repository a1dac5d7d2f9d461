package offline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/internal/text"
)

// jsonStream reads the objects of JSON text one at a time, including the items of a List. A List of a whole cluster is
// therefore never completely in memory.
type jsonStream struct {
	dec   *jsontext.Decoder
	lines *lineReader // the source of dec
	at    Origin      // of the object that is being read; Document counts the documents begun
	fixed int         // the line of all objects; 0 if lines counts lines
	once  bool        // an item is valid until the next item is read

	claimed   bool // a document has an apiVersion or a kind
	malformed bool // the text is not JSON, so claimed may be incomplete

	// The document that is being read.
	open    bool
	begin   Origin
	head    typeMeta
	members []byte // its JSON so far, without the items of a List
	list    bool   // it has items
	inItems bool
	items   *itemReader // reads the items until dec has to read the rest; then nil

	continued string // metadata.continue of the last List
}

// maxJSON limits one object, or the part of a List around its items, in bytes. It is many times the size of an object
// that a cluster can store (1.5 MiB).
const maxJSON = 64 << 20

var errLongJSON = errors.New("longer than 64 MiB: a cluster cannot store such an object")

func newJSONStream(r io.Reader, at Origin) *jsonStream {
	lines := &lineReader{r: r, line: 1}
	return &jsonStream{dec: jsontext.NewDecoder(lines), lines: lines, at: at}
}

// lineOf returns the line of a byte in the input of dec.
func (s *jsonStream) lineOf(offset int64) int {
	if s.fixed > 0 {
		return s.fixed
	}
	return s.lines.lineOf(offset)
}

func (s *jsonStream) documents() int { return s.at.Document }

func (s *jsonStream) claims() bool { return s.claimed }

// mayClaim reports whether the text is not JSON, but its beginning has an apiVersion or a kind.
func (s *jsonStream) mayClaim(head []byte) bool { return s.malformed && claimsKind(head) }

// next returns the next object, or io.EOF. After an error it continues with the next object, unless the text is not
// JSON.
func (s *jsonStream) next() (Object, error) {
	for {
		object, found, err := s.step()
		if found || err != nil {
			return object, err
		}
	}
}

// step reads a part of a document. Not every part completes an object.
func (s *jsonStream) step() (object Object, found bool, err error) {
	switch {
	case s.inItems:
		return s.item()
	case s.open:
		return s.member()
	default:
		return Object{}, false, s.document()
	}
}

// document begins the next document.
func (s *jsonStream) document() error {
	s.lines.begun = s.lines.read
	kind := s.dec.PeekKind()
	_, err := s.dec.ReadToken()
	if err == io.EOF { //nolint:errorlint // only io.EOF itself is the end; io.ErrUnexpectedEOF does not wrap an error
		return io.EOF
	}
	s.at.Document, s.at.Item = s.at.Document+1, 0
	if err != nil {
		return s.broken(err)
	}
	s.at.Line = s.lineOf(s.dec.InputOffset() - 1)
	switch kind {
	case '{':
	case '[':
		s.claimed = s.claimed || s.claimsInList()
		return s.broken(errNoObject("a list is not a Kubernetes object: make it the items of a v1 List"))
	default:
		return s.broken(errNoObject(kindWord(kind) + " is not a Kubernetes object"))
	}
	s.open, s.begin, s.head, s.members, s.list = true, s.at, typeMeta{}, []byte{'{'}, false
	return nil
}

// errNoObject is the error about a value that is not a JSON object.
type errNoObject string

func (e errNoObject) Error() string { return string(e) }

// member reads one member of the document, or its end: then the document is an object, unless it was a List.
func (s *jsonStream) member() (object Object, found bool, err error) {
	token, err := s.dec.ReadToken()
	if err != nil {
		return Object{}, false, s.broken(err)
	}
	if token.Kind() == '}' {
		return s.end()
	}
	name := token.String()
	s.claimed = s.claimed || s.isClaim(name)
	if items := s.dec.PeekKind(); name == "items" && s.mayBeList(items) {
		_, err := s.dec.ReadToken()
		if s.list, s.inItems = true, items == '['; s.inItems && err == nil {
			s.items = newItemReader(s.lines.r, s.dec.UnreadBuffer(), s.lineOf(s.dec.InputOffset()))
		}
		return Object{}, false, err
	}
	value, err := s.dec.ReadValue()
	if err != nil {
		return Object{}, false, s.broken(err)
	}
	switch {
	case value.Kind() != '"':
	case name == "kind":
		s.head.Kind = unquote(value)
	case name == "apiVersion":
		s.head.APIVersion = unquote(value)
	}
	s.members, _ = jsontext.AppendQuote(s.members, name) // the decoder has rejected invalid UTF-8
	s.members = append(append(append(s.members, ':'), value...), ',')
	return Object{}, false, nil
}

// isClaim reports whether the member whose name was read last is the apiVersion or the kind of a Kubernetes object. A
// number is the apiVersion of a Grafana file, and never of a Kubernetes object.
func (s *jsonStream) isClaim(name string) bool {
	return name == "kind" || name == "apiVersion" && s.dec.PeekKind() != '0'
}

// claimsInList reports whether the first element of a list is an object with an apiVersion or a kind. The opening
// bracket has been read.
func (s *jsonStream) claimsInList() bool {
	if s.dec.PeekKind() != '{' {
		return false
	}
	_, err := s.dec.ReadToken()
	for err == nil && s.dec.PeekKind() == '"' {
		var token jsontext.Token
		if token, err = s.dec.ReadToken(); err != nil {
			break
		}
		if s.isClaim(token.String()) {
			return true
		}
		err = s.dec.SkipValue()
	}
	return false
}

// mayBeList reports whether the member items makes the document a List. kubectl prints the kind after the items.
func (s *jsonStream) mayBeList(items jsontext.Kind) bool {
	return items == '[' && s.head.Kind == "" || (items == '[' || items == 'n') && isList(s.head.Kind)
}

// end ends the document.
func (s *jsonStream) end() (object Object, found bool, err error) {
	s.open = false
	switch {
	case !s.list && s.head == typeMeta{"v1", "List"}: // a List without items
		return Object{}, false, nil
	case !s.list:
		object, err = newObject(s.begin, append(s.members[:max(1, len(s.members)-1)], '}'), typeMeta{})
		return object, err == nil, err
	case !isList(s.head.Kind):
		return Object{}, false, &inputError{
			Origin: s.begin, foreign: true,
			Err: fmt.Errorf("it has items, but its kind is %s: the kind of a list ends in List, such as PodList",
				text.Quote(s.head.Kind)),
		}
	}
	s.continued = continueOf(append(s.members[:max(1, len(s.members)-1)], '}'))
	return Object{}, false, nil
}

// continueOf returns metadata.continue of a List. The items are not part of list.
func continueOf(list jsontext.Value) string {
	value, err := field(list, "metadata", "continue")
	if err != nil || value.Kind() != '"' {
		return ""
	}
	return unquote(value)
}

// item reads one item of a List, or the end of its items.
func (s *jsonStream) item() (object Object, found bool, err error) {
	if s.items != nil {
		value, line, ok := s.items.next()
		if !ok {
			return Object{}, false, s.leaveItems()
		}
		s.at.Item++
		if s.at.Line = line; s.fixed > 0 {
			s.at.Line = s.fixed
		}
		if !s.once {
			value = bytes.Clone(value)
		}
		if s.items.headed {
			object, err = s.items.head.object(s.at, value, s.head.item())
		} else {
			object, err = newObject(s.at, value, s.head.item())
		}
		return s.noList(object, err)
	}
	s.lines.begun = s.lines.read
	if s.dec.PeekKind() == ']' {
		_, err := s.dec.ReadToken()
		s.inItems, s.at.Item = false, 0
		return Object{}, false, err
	}
	value, err := s.dec.ReadValue()
	s.at.Item++
	if err != nil {
		return Object{}, false, s.broken(err)
	}
	s.at.Line = s.lineOf(s.dec.InputOffset() - int64(len(value)))
	object, err = newObject(s.at, value.Clone(), s.head.item())
	return s.noList(object, err)
}

// noList returns an item. It returns an error for a List, because the items of a nested List are not searched.
func (s *jsonStream) noList(object Object, err error) (Object, bool, error) {
	if err == nil && isList(object.Kind) {
		if items, _ := member(object.JSON, "items"); items != nil {
			err = s.at.Errorf("a %s within a List: move its items to the outer List", text.Name(object.Kind))
		}
	}
	return object, err == nil, err
}

// leaveItems lets dec read the text after the items as the rest of a list. The text may be malformed.
func (s *jsonStream) leaveItems() error {
	rest, line, element := s.items.rest()
	before := `{"items":[`
	if element {
		before += "null"
	}
	s.items = nil
	s.lines = &lineReader{r: io.MultiReader(strings.NewReader(before), rest), line: line}
	s.dec = jsontext.NewDecoder(s.lines)
	for s.dec.InputOffset() < int64(len(before)) {
		if _, err := s.dec.ReadToken(); err != nil {
			return s.broken(err)
		}
	}
	return nil
}

// broken ends the stream, because the text after malformed JSON cannot be trusted.
func (s *jsonStream) broken(err error) error {
	at := s.at
	syntactic, isSyntax := errors.AsType[*jsontext.SyntacticError](err)
	if isSyntax {
		at.Line = s.lineOf(syntactic.ByteOffset)
	}
	claimed := s.claimed
	*s = *newJSONStream(strings.NewReader(""), s.at)
	s.claimed, s.malformed = claimed, isSyntax
	if errors.Is(err, errLongJSON) {
		return &inputError{Origin: at, Err: errLongJSON, foreign: true}
	}
	_, noObject := errors.AsType[errNoObject](err)
	return &inputError{Origin: at, Err: errors.New(describe(err)), foreign: isSyntax || noObject}
}

// isList reports whether a kind is the kind of a list, such as List or PodList.
func isList(kind string) bool { return strings.HasSuffix(kind, "List") }

// item returns the type of the items of a list such as PodList, for items without a type. Items of kubectl's List
// have types, so the result is empty for it.
func (t typeMeta) item() typeMeta {
	if kind := strings.TrimSuffix(t.Kind, "List"); kind != "" && kind != t.Kind {
		return typeMeta{t.APIVersion, kind}
	}
	return typeMeta{}
}

func unquote(value jsontext.Value) string {
	text, _ := jsontext.AppendUnquote(nil, value) // the decoder has checked it
	return string(text)
}

// lineReader counts lines. It remembers only the line ends after the last offset that lineOf was called with.
type lineReader struct {
	r        io.Reader
	read     int64
	begun    int64 // the number of bytes read before the current object; more than maxJSON bytes after it are an error
	line     int   // of the last offset that lineOf was called with
	newlines []int64
}

func (l *lineReader) Read(p []byte) (int, error) {
	if l.read-l.begun > maxJSON {
		return 0, errLongJSON
	}
	n, err := l.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			l.newlines = append(l.newlines, l.read+int64(i))
		}
	}
	l.read += int64(n)
	return n, err
}

// lineOf returns the line of a byte. The offset must not be lower than in the previous call.
func (l *lineReader) lineOf(offset int64) int {
	n, _ := slices.BinarySearch(l.newlines, offset)
	l.line += n
	l.newlines = slices.Delete(l.newlines, 0, n)
	return l.line
}
