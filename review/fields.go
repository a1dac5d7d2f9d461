package review

import (
	"encoding/binary"
	"strings"
)

// fields are the names of fields of an object that a walker reads or expects, in the order in which an API server writes them:
// that of the fields of the Go type. A walker finds those that it reads in any order, and a little faster in this one. It does not
// hear of any others: a field that it reads and that is not said to be read here would never be read.
type fields struct {
	names   []string
	written []written
	longest int // of written, and no less than 8
}

// written is how a name and its colon are usually written, and of that the first and the last eight bytes, each as one number. If
// there are less, mask says which bytes of first are of the name, and last is not looked at.
type written struct {
	text              string
	first, mask, last uint64
	skipped           bool // expected, and not read
}

// fieldsOf returns the fields with these names, which are at most 64 and have no character that JSON would escape. A minus is before
// those that are expected, and not read.
func fieldsOf(names ...string) *fields {
	f := &fields{longest: 8}
	for _, name := range names {
		name, skipped := strings.CutPrefix(name, "-")
		f.names = append(f.names, name)
		w := written{text: `"` + name + `":`, skipped: skipped}
		n := min(len(w.text), 8)
		var first, last [8]byte
		copy(first[:], w.text)
		copy(last[:], w.text[len(w.text)-n:])
		w.first, w.last = binary.LittleEndian.Uint64(first[:]), binary.LittleEndian.Uint64(last[:])
		w.mask = ^uint64(0) >> (64 - 8*n)
		f.written = append(f.written, w)
		f.longest = max(f.longest, len(w.text))
	}
	return f
}

// match returns the place of the name that stands at pos, and where what follows its colon begins; a negative number if it is none
// of those from expected on, not written as usual, or at the end of the text. So a name that stands where it is expected need not be
// looked at byte by byte.
func (f *fields) match(data []byte, pos, expected int) (i, value int) {
	if len(data)-pos <= f.longest {
		return -1, 0
	}
	first := binary.LittleEndian.Uint64(data[pos : pos+8])
	for i := expected; i < len(f.written); i++ {
		if w := &f.written[i]; first&w.mask == w.first && w.ends(data, pos) {
			return i, pos + len(w.text)
		}
	}
	return -1, 0
}

// ends says whether what begins at pos, as the name does, goes on as it does.
func (w *written) ends(data []byte, pos int) bool {
	n := len(w.text)
	if n <= 8 {
		return true
	}
	last := pos + n - 8
	return binary.LittleEndian.Uint64(data[last:last+8]) == w.last && (n <= 16 || string(data[pos+8:last]) == w.text[8:n-8])
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
