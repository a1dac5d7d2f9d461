package review

import "encoding/binary"

// fields are the names of fields of an object that a walker reads or expects, in the order in which an API server writes them:
// that of the fields of the Go type. A walker finds those that it reads in any order, and a little faster in this one. It does not
// hear of any others: a name that it reads and that is not among them would never be read.
type fields struct {
	names   []string
	written []written
	longest int // of written, and no less than 8
}

// written is how a name and its colon are usually written, and of that the first eight bytes, or all if it has less, as one
// number. mask says which bytes of the number are of the name.
type written struct {
	text        string
	first, mask uint64
}

// fieldsOf returns the fields with these names, which are at most 64 and have no character that JSON would escape.
func fieldsOf(names ...string) *fields {
	f := &fields{names: names, longest: 8}
	for _, name := range names {
		w := written{text: `"` + name + `":`}
		var first [8]byte
		n := copy(first[:], w.text)
		w.first, w.mask = binary.LittleEndian.Uint64(first[:]), ^uint64(0)>>(64-8*n)
		f.written = append(f.written, w)
		f.longest = max(f.longest, len(w.text))
	}
	return f
}

// index returns the place of a name; a negative number if it is none of them.
func (f *fields) index(name []byte) int {
	for i, known := range f.names {
		if string(name) == known {
			return i
		}
	}
	return -1
}
