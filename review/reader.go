package review

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/internal/text"
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
	data    []byte
	pos     int             // everything before it has been read
	depth   int             // objects and lists around it that a walker has entered
	path    [maxPath]level  // to what is read, one for each of them
	block   strings.Builder // what text fills
	scratch []byte          // what unescape fills
	texts   lists[string]
	paths   lists[policy.IngressPath]
	kept    kept
	err     error
}

// kept counts what is kept of an object, or of what is around it.
type kept struct {
	elements int // of lists and maps
	text     int // bytes
}

const (
	// maxElements bounds the list elements and map entries of an object that are kept: each may be compared with every
	// pattern of every rule. An element can take three bytes of JSON and sixty of memory. No object that means anything
	// comes near it: etcd takes 1.5 MiB, 150 bytes for each.
	maxElements = 10_000
	// maxText bounds the bytes of text of an object that are kept: as many as the API server reads of a request (3 MiB), so
	// that nothing in etcd has more.
	maxText = 3 << 20
	// maxPath is how deep the fields lie that are read. That of a path of an Ingress in a review is at
	// request.object.spec.rules[].http.paths[].path.
	maxPath = 16
)

// level is what is read of an object or a list that a walker has entered.
type level struct {
	name  []byte // of the field
	known string // the same, where it is one of those to be read
	index int    // of the element of a list; -1 in an object
}

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
			r.at(level{known: known.names[i], index: -1})
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
		r.at(level{name: name, index: -1})
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
		r.at(level{index: i})
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

// count counts an element that is kept of the object.
func (r *reader) count() {
	if r.kept.elements++; r.kept.elements > maxElements {
		r.exceed(tooManyElements)
	}
}

// at notes what is read of the object or list that was entered last.
func (r *reader) at(l level) {
	if r.depth <= maxPath {
		r.path[r.depth-1] = l
	}
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
	switch {
	case end == tooDeep:
		r.fail(errTooDeep)
	case end < 0:
		r.malformed()
	default:
		r.pos = end
	}
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
	return r.unescape(r.data[start+1 : end-1])
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
		r.err = &fieldError{path: r.pathHere(), msg: msg}
	}
}

// exceed is reject for what is more than is judged.
func (r *reader) exceed(msg string) {
	if r.err == nil {
		r.err = &fieldError{path: r.pathHere(), msg: msg, limit: true}
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

// syntaxError says what is wrong with a text that the scanner did not take for JSON. kube-apiserver sends nothing but JSON,
// so a long text is not read once more for the sake of the sentence.
func syntaxError(data []byte) error {
	const most = 1 << 20
	if len(data) > most {
		return badRequest("not JSON")
	}
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

// pathHere names the field that is read, as users write it: spec.containers[0].image, metadata.labels[example.com/team].
func (r *reader) pathHere() string {
	var path strings.Builder
	for i, l := range r.path[:min(r.depth, maxPath)] {
		name := text.Printable(cmp.Or(l.known, string(l.name[:min(len(l.name), text.Short+1)])), text.Short)
		switch {
		case l.index >= 0:
			fmt.Fprintf(&path, "[%d]", l.index)
		case strings.ContainsAny(name, "./[]"):
			path.WriteString("[" + name + "]")
		case i > 0:
			path.WriteString("." + name)
		default:
			path.WriteString(name)
		}
	}
	return path.String()
}
