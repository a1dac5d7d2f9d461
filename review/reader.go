package review

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/policy"
)

// reader walks a JSON text once, from its first byte to its last. Its methods read the value that comes next. Walkers
// range over the fields of an object and read those they know; what they do not read is skipped, but checked to be JSON:
//
//	for field := range r.fields {
//		switch string(field) {
//		case "image":
//			image.Ref = r.string()
//		}
//	}
//
// As in Kubernetes, names are case-sensitive, and null counts as absent. The first error sticks: from then on every
// method returns at once with the zero value, so that walkers need not look at it.
type reader struct {
	data  []byte
	pos   int             // everything before it has been read
	depth int             // objects and lists around it
	names []place         // of the fields that walkers have read, of the objects around it
	room  [24]place       // for names: more than an object that means anything takes
	odd   [][]byte        // those that are not written as they are read
	block strings.Builder // what text fills
	texts lists[string]
	paths lists[policy.IngressPath]
	kept  int // list elements and map entries so far
	err   error
}

// maxKept bounds the list elements and map entries that one review may make us keep. An element can take three bytes of
// JSON and sixty of memory: without a bound a body at the limit would become half a gigabyte. No object that means
// anything comes near it.
const maxKept = 100_000

func newReader(data []byte) *reader {
	r := &reader{data: data}
	r.names = r.room[:0]
	return r
}

// end checks that nothing follows the value that was read.
func (r *reader) end() {
	if r.err == nil && space(r.data, r.pos) < len(r.data) {
		r.fail(badRequest("something follows the end of the JSON at byte %d", r.pos))
	}
}

// fields yields the name of each field of an object and refuses an object in which one that the walker reads stands
// twice: which of the two counts is a matter of taste, and whoever reads the object after us might have another. Others
// are not looked at, since looking everywhere would double the cost of decoding.
func (r *reader) fields(yield func(name []byte) bool) {
	if !r.enter('{') {
		return
	}
	first, firstOdd := len(r.names), len(r.odd)
	for {
		name, at := r.name()
		start := r.pos
		if r.err != nil || !yield(name) {
			return
		}
		if r.pos != start {
			r.once(first, name, at)
		}
		if !r.leave(start) || !r.more('}') {
			break
		}
	}
	r.names, r.odd = r.names[:first], r.odd[:firstOdd]
}

// place is where a name is written: its first quote in data, which is far smaller than 2 GiB, or, where it had to be unquoted,
// the complement of its index in odd. It is no pointer, of which there would be more in a reader than of all else.
type place int32

// elsewhere stands for a name that had to be unquoted and is not in odd yet.
const elsewhere place = -1 << 31

// once takes note of the name of a field that was read and refuses it if it is among those from first on.
func (r *reader) once(first int, name []byte, at place) {
	for _, earlier := range r.names[first:] {
		if r.stands(name, earlier) {
			r.reject("stands twice")
		}
	}
	if at == elsewhere {
		at = ^place(len(r.odd))
		r.odd = append(r.odd, name)
	}
	r.names = append(r.names, at)
}

// stands says whether the name of a field that was read stands at a place. Walkers read fields by names that they know, and
// none of those has a quote or a backslash.
func (r *reader) stands(name []byte, at place) bool {
	if at < 0 {
		return string(r.odd[^at]) == string(name)
	}
	written := r.data[at+1:]
	return len(written) > len(name) && written[len(name)] == '"' && string(written[:len(name)]) == string(name)
}

// members yields the name of each field of an object.
func (r *reader) members(yield func(name []byte) bool) {
	if !r.enter('{') {
		return
	}
	for {
		name, _ := r.name()
		start := r.pos
		if r.err != nil || !yield(name) || !r.leave(start) || !r.more('}') {
			return
		}
	}
}

// items yields the index of each element of a list.
func (r *reader) items(yield func(i int) bool) {
	if !r.enter('[') {
		return
	}
	for i := 0; ; i++ {
		r.count()
		r.pos = space(r.data, r.pos)
		start := r.pos
		if !yield(i) || !r.leave(start) || !r.more(']') {
			return
		}
	}
}

// enter opens the object or list that comes next and says whether there is one with something in it.
func (r *reader) enter(opener byte) bool {
	if r.err != nil {
		return false
	}
	c, i := peek(r.data, r.pos)
	if c != opener {
		r.value(opener)
		return false
	}
	if r.depth == maxDepth {
		r.malformed()
		return false
	}
	if c, i = peek(r.data, i+1); c == opener+2 { // in ASCII } is two after {, and ] after [
		r.pos = i + 1
		return false
	}
	r.pos = i
	r.depth++
	return true
}

// more reads what stands between two elements, or closes the object or list, and says which of the two it was.
func (r *reader) more(closer byte) bool {
	c, i := peek(r.data, r.pos)
	r.pos = i + 1
	switch c {
	case ',':
		return true
	case closer:
		r.depth--
	default:
		r.malformed()
	}
	return false
}

// count counts what is kept of the object.
func (r *reader) count() {
	if r.kept++; r.kept > maxKept {
		r.reject(fmt.Sprintf("too large: more than %d list elements and map entries", maxKept))
	}
}

// leave skips the value at start if nobody has read it, and says whether to go on.
func (r *reader) leave(start int) bool {
	if r.err == nil && r.pos == start {
		r.skip()
	}
	return r.err == nil
}

// skip reads over a value and returns it; nil if it is none.
func (r *reader) skip() []byte {
	start := space(r.data, r.pos)
	end := skip(r.data, start, maxDepth-r.depth)
	if end < 0 {
		r.malformed()
		return nil
	}
	r.pos = end
	return r.data[start:end]
}

// name reads the name of a field, and what stands between it and its value. It is a part of the text wherever it can be.
func (r *reader) name() (name []byte, at place) {
	c, start := peek(r.data, r.pos)
	if c != '"' {
		r.malformed()
		return nil, 0
	}
	end, plain := skipString(r.data, start)
	if end < 0 {
		r.malformed()
		return nil, 0
	}
	c, colon := peek(r.data, end)
	if c != ':' {
		r.malformed()
		return nil, 0
	}
	_, r.pos = peek(r.data, colon+1)
	if plain {
		return r.data[start+1 : end-1], place(start)
	}
	return unquote(r.data[start:end]), elsewhere
}

// quoted reads the string whose first quote is at start, and returns what it stands for. It is a part of the text wherever
// it can be.
func (r *reader) quoted(start int) []byte {
	end, plain := skipString(r.data, start)
	if end < 0 {
		r.malformed()
		return nil
	}
	r.pos = end
	if plain {
		return r.data[start+1 : end-1]
	}
	return unquote(r.data[start:end])
}

// fail keeps the first error.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// malformed fails with what jsontext says of the text.
func (r *reader) malformed() {
	if r.err == nil {
		r.err = syntaxError(r.data)
	}
}

// reject says what is wrong with the field or value that was read last.
func (r *reader) reject(msg string) {
	if r.err == nil {
		r.err = &fieldError{path: pathTo(r.data[:r.pos]), msg: msg}
	}
}

// newDecoder returns the decoder that the scanner agrees with.
func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data),
		// Names that stand twice are looked for by fields, only where something is decided.
		jsontext.AllowDuplicateNames(true),
		// Invalid UTF-8 is read as the API server reads it, as U+FFFD: content must not make a call fail.
		jsontext.AllowInvalidUTF8(true),
	)
}

// syntaxError says what is wrong with a text that the scanner did not take for JSON.
func syntaxError(data []byte) error {
	for dec := newDecoder(data); ; {
		_, err := dec.ReadToken()
		if errors.Is(err, io.EOF) && dec.InputOffset() > 0 {
			return errors.New("not JSON") // jsontext takes it: no text is known of which that is true
		}
		if err != nil {
			return err
		}
	}
}

// pathTo names the value that a part of a JSON text ends with, as users write it: spec.containers[0].image,
// metadata.labels[example.com/team].
func pathTo(part []byte) string {
	dec := newDecoder(part)
	for err := error(nil); err == nil; {
		_, err = dec.ReadToken()
	}
	var path strings.Builder
	depth := 0
	for token := range dec.StackPointer().Tokens() {
		token = short(token)
		depth++
		switch kind, _ := dec.StackIndex(depth); {
		case kind == '[' || strings.ContainsAny(token, "./[]"):
			fmt.Fprintf(&path, "[%s]", token)
		case depth > 1:
			path.WriteByte('.')
			fallthrough
		default:
			path.WriteString(token)
		}
	}
	return path.String()
}
