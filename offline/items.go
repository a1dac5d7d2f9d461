package offline

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/evergate/evergate/internal/jsonscan"
)

const (
	// firstItems is the number of bytes that are read from a list at a time: about 20 objects.
	firstItems = 256 << 10
	// mostItem is the maximum size in bytes of an item whose end is searched for. It is ten times the size of an
	// object that a cluster can store. Longer items and malformed JSON are left to the decoder, which returns a
	// proper error.
	mostItem = 16 << 20
)

// itemReader reads the items of a List by searching for the end of each item and scanning its header. This is several
// times as fast as a decoder. It does not look for duplicate names. If a duplicate field affects a decision, the code
// that decides reports it.
type itemReader struct {
	r     io.Reader
	data  []byte
	pos   int   // everything before pos has been returned
	line  int   // of pos
	err   error // the reason why reading stopped
	first bool  // no item has been read yet

	head   header // of the last item that was found
	headed bool   // head is valid
}

// newItemReader returns a reader for the items of a List. data is the text after the opening bracket that has already
// been read, line is its line, and r contains the rest.
func newItemReader(r io.Reader, data []byte, line int) *itemReader {
	return &itemReader{r: r, data: slices.Grow(bytes.Clone(data), firstItems), line: line, first: true}
}

// next returns the next item and its line. The item is valid until the next call. If the list ends, or if the
// following text is not an item, then ok is false, and rest returns the remaining text.
func (i *itemReader) next() (item []byte, line int, ok bool) {
	for {
		start, end := i.find()
		switch {
		case end > 0 && utf8.Valid(i.data[start:end]):
			i.line += bytes.Count(i.data[i.pos:start], []byte{'\n'})
			item, line = i.data[start:end], i.line
			i.line += bytes.Count(item, []byte{'\n'})
			i.pos, i.first = end, false
			return item, line, true
		case end > 0, i.err != nil, len(i.data)-i.pos > mostItem, start < 0:
			return nil, 0, false
		}
		i.fill()
	}
}

// find returns the start and end of the next item. The end is 0 or less if it has not been read yet or does not
// exist. The start is negative at the end of the list.
func (i *itemReader) find() (start, end int) {
	start = jsonscan.Space(i.data, i.pos)
	if start == len(i.data) {
		return start, 0
	}
	if !i.first {
		if i.data[start] != ',' {
			return -1, 0
		}
		if start = jsonscan.Space(i.data, start+1); start == len(i.data) {
			return start, 0
		}
	}
	if i.data[start] != '{' {
		return -1, 0
	}
	if i.head, end, i.headed = scanHeader(i.data[start:]); i.headed {
		return start, start + end
	}
	return start, jsonscan.Skip(i.data, start)
}

// fill reads more of the list, after the data that has not been returned yet.
func (i *itemReader) fill() {
	n := copy(i.data, i.data[i.pos:])
	i.data, i.pos = i.data[:n], 0
	if cap(i.data)-n < firstItems/2 {
		i.data = slices.Grow(i.data, max(firstItems, n)) // doubling the buffer bounds the data that is searched again
	}
	n, err := io.ReadAtLeast(i.r, i.data[len(i.data):cap(i.data)], firstItems/2)
	i.data = i.data[:len(i.data)+n]
	if i.err = err; errors.Is(err, io.ErrUnexpectedEOF) { // the last read may be short
		i.err = io.EOF
	}
}

// rest returns the text after the last item, and its line, as the rest of a list whose opening bracket has been read.
// element reports whether an element precedes it.
func (i *itemReader) rest() (r io.Reader, line int, element bool) {
	r = i.r
	if i.err != nil {
		r = failedReader{i.err}
	}
	return io.MultiReader(bytes.NewReader(i.data[i.pos:]), r), i.line, !i.first
}

// failedReader returns its error from every Read.
type failedReader struct{ err error }

func (f failedReader) Read([]byte) (int, error) { return 0, f.err }
