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
//	for field := range r.fields(containerFields) {
//		switch field {
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

func newReader(data []byte) *reader { return &reader{data: data} }

// end checks that nothing follows the value that was read.
func (r *reader) end() {
	if r.err == nil && space(r.data, r.pos) < len(r.data) {
		r.fail(badRequest("something follows the end of the JSON at byte %d", r.pos))
	}
}

// fields yields the name of each field of an object that is one of those to be read, and refuses an object in which one that the
// walker reads stands twice: which of the two counts is a matter of taste, and whoever reads the object after us might have
// another. Others are not looked at, since looking everywhere would double the cost of decoding.
func (r *reader) fields(known *fields) func(yield func(name string) bool) {
	return func(yield func(name string) bool) { r.walk(known, yield) }
}

func (r *reader) walk(known *fields, yield func(name string) bool) {
	if !r.enter('{') {
		return
	}
	read := uint64(0) // a bit for each
	for expected := 0; ; {
		i, start := known.match(r.data, r.pos, expected)
		if i >= 0 {
			r.pos = start
		} else {
			i = known.index(r.name())
			start = r.pos
		}
		if r.err != nil {
			return
		}
		if i >= 0 {
			expected = i + 1
			if !known.written[i].skipped && !yield(known.names[i]) {
				return
			}
		}
		switch bit := uint64(1) << (i & 63); {
		case r.pos == start:
			r.skip()
		case read&bit != 0:
			r.reject("stands twice")
		default:
			read |= bit
		}
		if r.err != nil || !r.comma() && !r.more('}') {
			return
		}
	}
}

// members yields the name of each field of an object.
func (r *reader) members(yield func(name []byte) bool) {
	if !r.enter('{') {
		return
	}
	for {
		name := r.name()
		start := r.pos
		if r.err != nil || !yield(name) || !r.leave(start) || !r.comma() && !r.more('}') {
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
		if !yield(i) || !r.leave(start) || !r.comma() && !r.more(']') {
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

// comma reads a comma if one comes next, and says whether it did.
func (r *reader) comma() bool {
	found := r.pos < len(r.data) && r.data[r.pos] == ','
	if found {
		r.pos++
	}
	return found
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
		r.rejectCount()
	}
}

func (r *reader) rejectCount() {
	r.reject(fmt.Sprintf("too large: more than %d list elements and map entries", maxKept))
}

// leave skips the value at start if nobody has read it, and says whether to go on.
func (r *reader) leave(start int) bool {
	if r.err == nil && r.pos == start {
		r.skip()
	}
	return r.err == nil
}

// skip reads over a value.
func (r *reader) skip() {
	end := skip(r.data, r.pos, maxDepth-r.depth)
	if end < 0 {
		r.malformed()
		return
	}
	r.pos = end
}

// raw reads over a value and returns it; nil if it is none.
func (r *reader) raw() []byte {
	_, start := peek(r.data, r.pos)
	if r.skip(); r.err != nil {
		return nil
	}
	return r.data[start:r.pos]
}

// name reads the name of a field, and what stands between it and its value. It is a part of the text wherever it can be.
func (r *reader) name() []byte {
	c, i := peek(r.data, r.pos)
	if c != '"' {
		r.malformed()
		return nil
	}
	name := r.quoted(i)
	if c, i = peek(r.data, r.pos); c != ':' {
		r.malformed()
		return nil
	}
	_, r.pos = peek(r.data, i+1)
	return name
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
