package offline

import (
	"bytes"
	"errors"
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
	slow  bool        // dec reads all items
	yaml  *yamlStream // reads the rest, which is not JSON; otherwise nil

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

func (s *jsonStream) documents() int {
	if s.yaml != nil {
		return s.yaml.documents()
	}
	return s.at.Document
}

// errStop is the error if the receiver of objects wants no more.
var errStop = errors.New("stop")

// each yields the objects. After an error it continues with the next object, unless the text is not JSON.
func (s *jsonStream) each(yield yieldFunc) bool {
	for {
		switch err := s.document(yield); {
		case err == nil:
		case err == io.EOF: //nolint:errorlint // only io.EOF itself is the end; io.ErrUnexpectedEOF does not wrap an error
			return s.yaml == nil || s.yaml.each(yield)
		case errors.Is(err, errStop):
			return false
		default:
			return yield(Object{}, s.broken(err)) // the text after malformed JSON cannot be trusted
		}
	}
}

// document reads the next document. Like kubectl, it reads text that does not continue with JSON as YAML.
func (s *jsonStream) document(yield yieldFunc) error {
	s.lines.begun = s.lines.read
	kind := s.dec.PeekKind()
	rest := s.dec.UnreadBuffer()
	if next := bytes.TrimLeft(rest, " \t\r\n"); s.fixed == 0 && len(next) > 0 && next[0] != '{' && next[0] != '[' {
		s.yaml = newYAMLStream(io.MultiReader(bytes.NewReader(rest), s.lines.r), s.at)
		line := s.lineOf(s.dec.InputOffset())
		s.yaml.split.read, s.yaml.split.doc.line = line-1, line
		return io.EOF
	}
	if _, err := s.dec.ReadToken(); err != nil {
		if err != io.EOF { //nolint:errorlint // likewise
			s.at.Document++
		}
		return err
	}
	s.at.Document, s.at.Item, s.at.Line = s.at.Document+1, 0, s.lineOf(s.dec.InputOffset()-1)
	if kind == '{' {
		l := jsonList{jsonStream: s, begin: s.at}
		return l.read(yield)
	}
	for s.dec.StackDepth() > 0 {
		if _, err := s.dec.ReadToken(); err != nil {
			return err
		}
	}
	what := kindWord(kind) + " is not a Kubernetes object"
	if kind == '[' {
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

// jsonList reads a document that may be a List.
type jsonList struct {
	*jsonStream
	begin  Origin
	head   typeMeta
	isList bool       // it has items
	held   []heldItem // items that cannot be read before the kind is known
	size   int        // of held, in bytes
}

// heldItem is an item that is read when the kind of its List is known.
type heldItem struct {
	at    Origin
	value jsontext.Value
}

// read reads the document. It yields the items of a List, or one object.
func (l *jsonList) read(yield yieldFunc) error {
	members := []byte{'{'} // without the items of a List
	for {
		token, err := l.dec.ReadToken()
		if err != nil {
			return err
		}
		if token.Kind() == '}' {
			return l.end(append(members[:max(1, len(members)-1)], '}'), yield)
		}
		name := token.String()
		if items := l.dec.PeekKind(); name == "items" && l.mayBeList(items) {
			if l.isList, err = true, l.items(items, yield); err != nil {
				return err
			}
			continue
		}
		value, err := l.dec.ReadValue()
		if err != nil {
			return err
		}
		switch {
		case value.Kind() != '"':
		case name == "kind":
			l.head.Kind = unquote(value)
		case name == "apiVersion":
			l.head.APIVersion = unquote(value)
		}
		members, _ = jsontext.AppendQuote(members, name) // the decoder has rejected invalid UTF-8
		members = append(append(append(members, ':'), value...), ',')
	}
}

// mayBeList reports whether the member items makes the document a List. As in kubectl, the kind of a List need not end
// in List, and may follow the items.
func (l *jsonList) mayBeList(items jsontext.Kind) bool {
	return items == '[' && (l.head.Kind == "" || isKind(l.head.Kind)) || items == 'n' && isList(l.head.Kind)
}

// end yields the object in a document, or the items that were held.
func (l *jsonList) end(members jsontext.Value, yield yieldFunc) error {
	if !l.isList && l.head == (typeMeta{"v1", "List"}) { // a List without items
		return nil
	}
	if !l.isList || !isList(l.head.Kind) {
		if object, err := newObject(l.begin, members, typeMeta{}); !l.isList || err != nil {
			return send(yield, object, err)
		}
	}
	l.continued = continueOf(members)
	for _, item := range l.held {
		if err := l.item(item.at, item.value, nil, yield); err != nil {
			return err
		}
	}
	return nil
}

// continueOf returns metadata.continue of a List. The items are not part of list.
func continueOf(list jsontext.Value) string {
	value, err := field(list, "metadata", "continue")
	if err != nil || value.Kind() != '"' {
		return ""
	}
	return unquote(value)
}

// items reads the items of a List.
func (l *jsonList) items(kind jsontext.Kind, yield yieldFunc) error {
	if _, err := l.dec.ReadToken(); kind == 'n' || err != nil {
		return err
	}
	if !l.slow {
		items := newItemReader(l.lines.r, l.dec.UnreadBuffer(), l.lineOf(l.dec.InputOffset()))
		if err := l.fast(items, yield); err != nil {
			return err
		}
	}
	for {
		l.lines.begun = l.lines.read
		if l.dec.PeekKind() == ']' {
			_, err := l.dec.ReadToken()
			l.at.Item = 0
			return err
		}
		value, err := l.dec.ReadValue()
		l.at.Item++
		if err != nil {
			return err
		}
		l.at.Line = l.lineOf(l.dec.InputOffset() - int64(len(value)))
		if err := l.item(l.at, value.Clone(), nil, yield); err != nil {
			return err
		}
	}
}

// fast reads items until dec has to read the rest.
func (l *jsonList) fast(items *itemReader, yield yieldFunc) error {
	for {
		value, line, ok := items.next()
		if !ok {
			return l.leave(items)
		}
		l.at.Item++
		if l.at.Line = line; l.fixed > 0 {
			l.at.Line = l.fixed
		}
		if !l.once {
			value = bytes.Clone(value)
		}
		var head *header
		if items.headed {
			head = &items.head
		}
		if err := l.item(l.at, value, head, yield); err != nil {
			return err
		}
	}
}

// leave lets dec read the text after the items as the rest of a list. The text may be malformed.
func (l *jsonList) leave(items *itemReader) error {
	rest, line, element := items.rest()
	before := `{"items":[`
	if element {
		before += "null"
	}
	l.lines = &lineReader{r: io.MultiReader(strings.NewReader(before), rest), line: line}
	l.dec = jsontext.NewDecoder(l.lines)
	for l.dec.InputOffset() < int64(len(before)) {
		if _, err := l.dec.ReadToken(); err != nil {
			return err
		}
	}
	return nil
}

// item yields an item, whose header may have been read. The items of a nested List are not searched, so a nested List
// is an error. An item that is not an object is held until the kind of the List is known.
func (l *jsonList) item(at Origin, value jsontext.Value, head *header, yield yieldFunc) (err error) {
	var object Object
	if head != nil {
		object, err = head.object(at, value, l.head.item())
	} else {
		object, err = newObject(at, value, l.head.item())
	}
	switch {
	case err != nil && l.head.Kind == "":
		l.held = append(l.held, heldItem{at, bytes.Clone(value)})
		if l.size += len(value); l.size > maxJSON {
			return errLongJSON
		}
		return nil
	case err == nil && isList(object.Kind):
		if items, _ := member(value, "items"); items != nil {
			err = at.Errorf("a %s within a List: move its items to the outer List", text.Name(object.Kind))
		}
	}
	return send(yield, object, err)
}

// broken returns the error about text that is not JSON.
func (s *jsonStream) broken(err error) error {
	at := s.at
	syntactic, isSyntax := errors.AsType[*jsontext.SyntacticError](err)
	if isSyntax {
		at.Line = s.lineOf(syntactic.ByteOffset)
	}
	if errors.Is(err, errLongJSON) {
		return &inputError{Origin: at, Err: errLongJSON}
	}
	return &inputError{Origin: at, Err: errors.New(describe(err)), unparsed: isSyntax}
}

// isList reports whether a kind is the kind of a list, such as List or PodList.
func isList(kind string) bool { return isKind(kind) && strings.HasSuffix(kind, "List") }

// item returns the type of the items of a list such as PodList, for items without a type. Items of kubectl's List have
// types, so they get no kind.
func (t typeMeta) item() typeMeta { return typeMeta{t.APIVersion, strings.TrimSuffix(t.Kind, "List")} }

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
