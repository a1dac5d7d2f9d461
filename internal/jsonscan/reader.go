// Package jsonscan reads JSON text once, from the first byte to the last, and creates Go values only for the fields
// that its caller reads. It skips the other fields but still checks their syntax, so it accepts exactly the texts that
// jsontext accepts. Fuzz tests compare the two.
//
// Most of the cost of an admission review is skipping fields that do not affect the decision.
// docs/decisions/0005-own-scanner.md compares the speed of this package with other decoders.
//
//	reader.go    objects and lists
//	error.go     errors and their paths
//	value.go     strings, numbers, booleans and collections of them
//	scan.go      the end of a value
//	unescape.go  strings with escapes
package jsonscan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Reader reads the values of a text in order. Each method reads the next value. The caller iterates over the fields of
// an object and reads the fields it needs:
//
//	for name := range r.Fields {
//		switch string(name) {
//		case "image":
//			image.Ref = r.String()
//		}
//	}
//
// As in Kubernetes, names are case-sensitive, and null counts as absent. If the caller reads a field twice in one
// object, the reader fails, because JSON parsers disagree on which of the two values counts. After the first error,
// every method returns immediately with a zero or empty value. A Reader must not be used concurrently.
type Reader struct {
	data    []byte
	pos     int             // the bytes before pos have been read
	path    []level         // the path to pos, with one level for each object and list that was entered around pos
	levels  [maxPath]level  // first storage of path
	read    [][]byte        // names of the fields that were read in all objects around pos
	room    [32][]byte      // first storage of read, large enough for all objects around a usual field
	block   strings.Builder // storage for the strings that Text returns
	scratch []byte          // storage for the strings that unescape returns
	limits  Limits
	kept    Limits // elements and text that have been counted against limits
	err     error
}

// Limits bounds the values that a Reader keeps from a text.
type Limits struct {
	Elements int // number of list elements and map entries
	Text     int // total length of strings in bytes
}

const (
	// MaxDepth is the maximum nesting of objects and lists. jsontext, encoding/json and therefore the API server have
	// the same limit.
	MaxDepth = 10_000
	// maxPath is the maximum number of levels in the path of an error. A path in an Ingress in a review has nine levels:
	// request.object.spec.rules[].http.paths[].path.
	maxPath = 16
)

// level is the position of the reader in an object or a list.
type level struct {
	name  int // position of the field's name
	index int // index of the list element; -1 in an object
}

// New returns a Reader of data. The caller must not change data while the Reader is in use.
func New(data []byte, limits Limits) *Reader {
	r := &Reader{data: data, limits: limits}
	r.read, r.path = r.room[:0], r.levels[:0]
	return r
}

// Err returns the first error, or nil. It is an error that was passed to Fail, a *ValueError, ErrTooDeep, or a syntax
// error if the text is not JSON.
func (r *Reader) Err() error { return r.err }

// Pos returns the position after the last byte that has been read.
func (r *Reader) Pos() int { return r.pos }

// End checks that only white space follows the value that was read. It returns the first error of the Reader, or nil.
func (r *Reader) End() error {
	if r.err == nil && Space(r.data, r.pos) < len(r.data) {
		r.Fail(fmt.Errorf("something follows the end of the JSON at byte %d", r.pos))
	}
	return r.err
}

// Apart calls read with separate limits. Elements and text that read keeps do not count against the limits of the other
// values.
func (r *Reader) Apart(read func()) {
	around := r.kept
	r.kept = Limits{}
	read()
	r.kept = around
}

// Fields yields the name of each field of an object. The name is valid until the next iteration. If the loop body does
// not read the value, Fields skips it. It is an error if the loop body reads two fields of the same name.
func (r *Reader) Fields(yield func(name []byte) bool) {
	if !r.enter('{') {
		return
	}
	first := len(r.read)
	for {
		name, escaped := r.name(longestName)
		if escaped {
			name = bytes.Clone(name) // reading the value may overwrite the name
		}
		start := r.pos
		if r.err != nil || !yield(name) {
			return
		}
		if r.err != nil { // r.read still contains names of nested objects that were not read to the end
			return
		}
		if r.pos > start {
			if slices.ContainsFunc(r.read[first:], func(other []byte) bool { return bytes.Equal(name, other) }) {
				r.Reject("duplicate key")
			}
			r.read = append(r.read, name)
		}
		if !r.more(start, '}') {
			r.read = r.read[:first]
			return
		}
	}
}

// Members yields the name of each entry of a map. The name is valid until the value is read. Members skips values that
// the loop body does not read. It does not check for duplicate names.
func (r *Reader) Members(yield func(name []byte) bool) {
	if !r.enter('{') {
		return
	}
	for {
		name, _ := r.name(r.limits.Text)
		start := r.pos
		if r.err != nil || !yield(name) || !r.more(start, '}') {
			return
		}
	}
}

// Entries yields the name of each entry of a map whose names are arbitrary. The name is valid until the value is read.
// Each entry counts against the limit on elements, and each name counts against the limit on text. A duplicate name is
// an error.
func (r *Reader) Entries(yield func(name []byte) bool) {
	seen := map[string]struct{}{}
	for name := range r.Members {
		r.count()
		before := len(seen)
		if seen[r.Text(name)] = struct{}{}; len(seen) == before {
			r.Reject("duplicate key")
		}
		if r.err != nil || !yield(name) {
			return
		}
	}
}

// Items yields the index of each element of a list, and skips elements that the loop body does not read. Each element
// counts against the limit on elements.
func (r *Reader) Items(yield func(i int) bool) {
	if !r.enter('[') {
		return
	}
	for i := 0; ; i++ {
		r.path[len(r.path)-1].index = i
		r.count()
		r.pos = Space(r.data, r.pos)
		start := r.pos
		if !yield(i) || !r.more(start, ']') {
			return
		}
	}
}

// enter reads the start of the next object or list, and reports whether it has any fields or elements. It returns false
// for null, and after an error.
func (r *Reader) enter(opener byte) bool {
	if r.err != nil {
		return false
	}
	c, i := peek(r.data, r.pos)
	if c != opener {
		r.value(opener)
		return false
	}
	if c, i = peek(r.data, i+1); c == opener+2 { // in ASCII, } is { + 2, and ] is [ + 2
		r.pos = i + 1
		return false
	}
	r.pos = i
	r.path = append(r.path, level{})
	return true
}

// more skips the value at start if it was not read, and reads the comma after it, or the end of the object or list. It
// reports whether there is another element. It returns false after an error.
func (r *Reader) more(start int, closer byte) bool {
	if r.err == nil && r.pos == start {
		r.skip()
	}
	if r.err != nil {
		return false
	}
	c, i := peek(r.data, r.pos)
	r.pos = i + 1
	switch c {
	case ',':
		return true
	case closer:
		r.path = r.path[:len(r.path)-1]
	default:
		r.malformed()
	}
	return false
}

// count counts an element against the limit on elements.
func (r *Reader) count() {
	if r.kept.Elements++; r.kept.Elements > r.limits.Elements {
		r.exceed(ElementsLimit)
	}
}

// skip skips the next value.
func (r *Reader) skip() {
	end := skip(r.data, r.pos, MaxDepth-len(r.path))
	switch {
	case end == tooDeep:
		r.Fail(ErrTooDeep)
	case end < 0:
		r.malformed()
	default:
		r.pos = end
	}
}

// name reads the name of a field and the colon after it, and records its position for the path of an error. If the name
// has escapes, it is valid until the next string is read. If such a name is longer than most bytes without its escapes,
// the returned name is incomplete or still escaped, but also longer than most bytes.
func (r *Reader) name(most int) (name []byte, escaped bool) {
	r.path[len(r.path)-1] = level{name: r.pos, index: -1}
	c, i := peek(r.data, r.pos)
	if c != '"' {
		r.malformed()
		return nil, false
	}
	name, plain := r.quoted(i)
	if escaped = !plain; escaped && len(name) <= longestEscape*most { // a longer name exceeds most in any case
		name = r.unescape(name, most)
	}
	if c, i = peek(r.data, r.pos); c != ':' {
		r.malformed()
		return nil, false
	}
	_, r.pos = peek(r.data, i+1)
	return name, escaped
}

// quoted reads the string whose first quote is at start, and returns the bytes between its quotes. If plain is true,
// these bytes are the value of the string, without escapes or invalid UTF-8.
func (r *Reader) quoted(start int) (content []byte, plain bool) {
	end, plain := skipString(r.data, start)
	if end < 0 {
		r.malformed()
		return nil, true
	}
	r.pos = end
	return r.data[start+1 : end-1], plain
}

// longestName is longer than every field name that a caller of Fields compares with.
const longestName = 64
