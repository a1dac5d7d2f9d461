// Package jsonscan reads JSON text once, from its first byte to its last, and makes values only of what its caller asks
// for. The rest is skipped, but checked to be JSON, so that a caller accepts exactly the texts that jsontext accepts.
//
// Most of what an admission review costs is getting past fields that decide nothing; docs/decisions/0005-own-scanner.md
// has the figures against other decoders. Its fuzz tests compare it with jsontext.
//
//	reader.go    objects and lists
//	error.go     what is wrong, and where
//	value.go     strings, numbers, booleans and collections of them
//	scan.go      where a value ends
//	unescape.go  what an escaped string stands for
package jsonscan

import (
	"bytes"
	"fmt"
	"strings"
)

// Reader reads the value that comes next. Its caller ranges over the fields of an object and reads those that it knows:
//
//	for name := range r.Fields {
//		switch string(name) {
//		case "image":
//			image.Ref = r.String()
//		}
//	}
//
// As in Kubernetes, names are case-sensitive, and null counts as absent. A field that is read twice in one object is an
// error, since readers disagree on which of the two counts. The first error sticks: from then on every method returns
// at once with the zero value.
type Reader struct {
	data    []byte
	pos     int             // everything before it has been read
	depth   int             // objects and lists around it that were entered
	path    [maxPath]level  // to what is read, one for each of them
	read    [][]byte        // names of the fields that were read, of all objects around pos
	room    [32][]byte      // where read begins: more than all objects around a field have
	block   strings.Builder // what text fills
	scratch []byte          // what unescape fills
	limits  Limits
	kept    Limits // what counts against limits
	err     error
}

// Limits bound what is kept of a text.
type Limits struct {
	Elements int // of lists and maps
	Text     int // bytes of strings
}

const (
	// MaxDepth is how deep objects and lists may be nested, as in jsontext, encoding/json and so the API server.
	MaxDepth = 10_000
	// maxPath is how many levels of a path an error names. A path of an Ingress in a review has ten:
	// request.object.spec.rules[].http.paths[].path.
	maxPath = 16
)

// level is where in an object or a list the reader is.
type level struct {
	name  int // position of the field's name
	index int // of the element of a list; -1 in an object
}

// New returns a reader of data, which must not change while it reads.
func New(data []byte, limits Limits) *Reader {
	r := &Reader{data: data, limits: limits}
	r.read = r.room[:0]
	return r
}

// Err returns the first error: one that was given to Fail, a *ValueError, ErrTooDeep, or what jsontext says of a text
// that is not JSON.
func (r *Reader) Err() error { return r.err }

// Pos returns where what has been read ends.
func (r *Reader) Pos() int { return r.pos }

// End checks that nothing follows the value that was read, and returns the first error.
func (r *Reader) End() error {
	if r.err == nil && space(r.data, r.pos) < len(r.data) {
		r.Fail(fmt.Errorf("something follows the end of the JSON at byte %d", r.pos))
	}
	return r.err
}

// Apart reads with limits of its own: what read keeps counts for itself.
func (r *Reader) Apart(read func()) {
	around := r.kept
	r.kept = Limits{}
	read()
	r.kept = around
}

// Fields yields the name of each field of an object, which is valid until the next call. A value that is not read is
// skipped.
func (r *Reader) Fields(yield func(name []byte) bool) {
	if !r.enter('{') {
		return
	}
	first := len(r.read)
	for {
		r.at(level{name: r.pos, index: -1})
		name, escaped := r.name(longestName)
		if escaped {
			name = bytes.Clone(name) // reading its value may overwrite it
		}
		start := r.pos
		if r.err != nil || !yield(name) {
			return
		}
		switch {
		case r.err != nil: // the names of the objects within, which were not read to their ends, are still among those read
			return
		case r.pos == start:
			r.skip()
		case r.wasRead(name, first):
			r.Reject("stands twice")
		default:
			r.read = append(r.read, name)
		}
		if r.err != nil || !r.more('}') {
			r.read = r.read[:first]
			return
		}
	}
}

// wasRead reports whether a field of the object has been read. The object's own names are those from first on.
func (r *Reader) wasRead(name []byte, first int) bool {
	for _, other := range r.read[first:] {
		if bytes.Equal(name, other) {
			return true
		}
	}
	return false
}

// Members yields the name of each entry of a map, which is valid until the value is read. It does not look for names
// that stand twice.
func (r *Reader) Members(yield func(name []byte) bool) {
	if !r.enter('{') {
		return
	}
	for {
		r.at(level{name: r.pos, index: -1})
		name, _ := r.name(r.limits.Text)
		start := r.pos
		if r.err != nil || !yield(name) || !r.leave(start) || !r.more('}') {
			return
		}
	}
}

// Entries yields the name of each entry of a map, whatever its names are; it is valid until the value is read. Each
// counts against the limit on elements, and a name that stands twice is an error.
func (r *Reader) Entries(yield func(name []byte) bool) {
	seen := map[string]struct{}{}
	for name := range r.Members {
		r.count()
		before := len(seen)
		if seen[r.Text(name)] = struct{}{}; len(seen) == before {
			r.Reject("stands twice")
		}
		if r.err != nil || !yield(name) {
			return
		}
	}
}

// Items yields the index of each element of a list. Each counts against the limit on elements.
func (r *Reader) Items(yield func(i int) bool) {
	if !r.enter('[') {
		return
	}
	for i := 0; ; i++ {
		r.at(level{index: i})
		r.count()
		r.pos = space(r.data, r.pos)
		start := r.pos
		if !yield(i) || !r.leave(start) || !r.more(']') {
			return
		}
	}
}

// enter opens the object or list that comes next and reports whether there is one with something in it.
func (r *Reader) enter(opener byte) bool {
	if r.err != nil {
		return false
	}
	c, i := peek(r.data, r.pos)
	if c != opener {
		r.value(opener)
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

// more reads what stands between two elements, or closes the object or list, and reports whether there is another.
func (r *Reader) more(closer byte) bool {
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

// count counts an element.
func (r *Reader) count() {
	if r.kept.Elements++; r.kept.Elements > r.limits.Elements {
		r.exceed(ElementsLimit)
	}
}

// at notes what is read of the object or list that was entered last.
func (r *Reader) at(l level) {
	if r.depth <= maxPath {
		r.path[r.depth-1] = l
	}
}

// leave skips the value at start if it was not read, and reports whether to go on.
func (r *Reader) leave(start int) bool {
	if r.err == nil && r.pos == start {
		r.skip()
	}
	return r.err == nil
}

// skip reads over a value.
func (r *Reader) skip() {
	end := skip(r.data, r.pos, MaxDepth-r.depth)
	switch {
	case end == tooDeep:
		r.Fail(ErrTooDeep)
	case end < 0:
		r.malformed()
	default:
		r.pos = end
	}
}

// name reads the name of a field, and what stands between it and its value. Where it has escapes, it is valid until the
// next string is read; one that stands for more than most bytes has more than those, and is not what it stands for.
func (r *Reader) name(most int) (name []byte, escaped bool) {
	c, i := peek(r.data, r.pos)
	if c != '"' {
		r.malformed()
		return nil, false
	}
	name, plain := r.quoted(i)
	if escaped = !plain; escaped && len(name) <= longestEscape*most { // else it is longer than most in any case
		name = r.unescape(name, most)
	}
	if c, i = peek(r.data, r.pos); c != ':' {
		r.malformed()
		return nil, false
	}
	_, r.pos = peek(r.data, i+1)
	return name, escaped
}

// quoted reads the string whose first quote is at start, and returns what stands between its quotes. plain says that it
// stands for itself.
func (r *Reader) quoted(start int) (content []byte, plain bool) {
	end, plain := skipString(r.data, start)
	if end < 0 {
		r.malformed()
		return nil, true
	}
	r.pos = end
	return r.data[start+1 : end-1], plain
}

// longestName is longer than any name that is a case of a switch over Fields.
const longestName = 64
