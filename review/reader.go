package review

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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
	body  []byte
	dec   *jsontext.Decoder
	block strings.Builder // what text fills
	kept  int             // list elements and map entries so far
	err   error
}

// maxKept bounds the list elements and map entries that one review may make us keep. An element can take three bytes of
// JSON and sixty of memory: without a bound a body at the limit would become half a gigabyte. No object that means
// anything comes near it.
const maxKept = 100_000

func newReader(body []byte) *reader {
	return &reader{body: body, dec: jsontext.NewDecoder(bytes.NewBuffer(body),
		// Names that stand twice are looked for by fields, only where something is decided: looking everywhere would
		// double the cost of decoding.
		jsontext.AllowDuplicateNames(true),
		// Invalid UTF-8 is read as the API server reads it, as U+FFFD: content must not make a call fail.
		jsontext.AllowInvalidUTF8(true),
	)}
}

// end checks that nothing follows the value that was read.
func (r *reader) end() {
	if r.err != nil {
		return
	}
	end := r.dec.InputOffset()
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		r.fail(badRequest("something follows the end of the JSON at byte %d", end))
	}
}

// fields yields the name of each field of an object and refuses an object in which one that the walker reads stands
// twice: which of the two counts is a matter of taste, and whoever reads the object after us might have another.
func (r *reader) fields(yield func(name []byte) bool) {
	var space [16][]byte // more than any walker reads
	read := space[:0]
	for name := range r.members {
		start := r.dec.InputOffset()
		if !yield(name) {
			return
		}
		if r.dec.InputOffset() == start {
			continue
		}
		for _, earlier := range read {
			if bytes.Equal(earlier, name) {
				r.reject("stands twice")
			}
		}
		read = append(read, name)
	}
}

// members yields the name of each field of an object.
func (r *reader) members(yield func(name []byte) bool) {
	if !r.enter('{') {
		return
	}
	for r.dec.PeekKind() != '}' {
		name := r.name()
		start := r.dec.InputOffset()
		if r.err != nil || !yield(name) || !r.leave(start) {
			return
		}
	}
	r.token()
}

// items yields the index of each element of a list.
func (r *reader) items(yield func(i int) bool) {
	if !r.enter('[') {
		return
	}
	for i := 0; r.dec.PeekKind() != ']'; i++ {
		r.count()
		start := r.dec.InputOffset()
		if !yield(i) || !r.leave(start) {
			return
		}
	}
	r.token()
}

// enter opens the object or list that comes next and says whether there is one.
func (r *reader) enter(open jsontext.Kind) bool {
	if r.err != nil {
		return false
	}
	if r.dec.PeekKind() == open {
		return r.token()
	}
	r.value(open)
	return false
}

// count counts what is kept of the object.
func (r *reader) count() {
	if r.kept++; r.kept > maxKept {
		r.reject(fmt.Sprintf("too large: more than %d list elements and map entries", maxKept))
	}
}

// leave skips the value at start if nobody has read it, and says whether to go on.
func (r *reader) leave(start int64) bool {
	if r.err == nil && r.dec.InputOffset() == start {
		_, err := r.dec.ReadValue() // faster than SkipValue, which goes token by token
		r.fail(err)
	}
	return r.err == nil
}

func (r *reader) token() bool {
	_, err := r.dec.ReadToken()
	r.fail(err)
	return err == nil
}

// name reads the name of a field. It is a part of the body wherever it can be.
func (r *reader) name() []byte {
	raw, err := r.dec.ReadValue()
	if err != nil {
		r.fail(err)
		return nil
	}
	if end := r.dec.InputOffset(); plain(raw) {
		return r.body[end-int64(len(raw))+1 : end-1]
	}
	return unquote(raw)
}

// fail keeps the first error.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// reject says what is wrong with the field or value that was read last.
func (r *reader) reject(msg string) {
	if r.err == nil {
		r.err = &fieldError{path: r.path(), msg: msg}
	}
}

// path names what was read last as users write it: spec.containers[0].image, metadata.labels[example.com/team].
func (r *reader) path() string {
	var path strings.Builder
	depth := 0
	for token := range r.dec.StackPointer().Tokens() {
		depth++
		switch kind, _ := r.dec.StackIndex(depth); {
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
