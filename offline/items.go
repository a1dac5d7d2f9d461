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
	// firstItems is how much of a list is read at once: some twenty objects.
	firstItems = 256 << 10
	// mostItem is the longest item that is searched for its end: ten times what a cluster stores of an object. A longer
	// one, or what is no JSON, is left to the decoder, which says what is wrong with it.
	mostItem = 16 << 20
)

// itemReader reads the items of a List by finding the end of each, and its header, at several times the speed of a
// decoder. It looks for no names that stand twice: where a field decides, judging the object does.
type itemReader struct {
	r     io.Reader
	data  []byte
	pos   int   // everything before it has been returned
	line  int   // of pos
	err   error // why no more can be read
	first bool  // no item was read yet

	head   header // of the item that was found last
	headed bool   // it could be read
}

// newItemReader reads a List of which data has been read behind its opening bracket, at a line, and the rest comes
// from r.
func newItemReader(r io.Reader, data []byte, line int) *itemReader {
	return &itemReader{r: r, data: slices.Grow(bytes.Clone(data), firstItems), line: line, first: true}
}

// next returns the next item, which is valid until the next call, and its line. Where there is none, because the list
// ends or what follows is not an item, ok is false, and rest returns all that follows.
func (i *itemReader) next() (item []byte, line int, ok bool) {
	for {
		start, end := i.find()
		switch {
		case end > 0 && utf8.Valid(i.data[start:end]):
			i.line += bytes.Count(i.data[i.pos:start], newline)
			item, line = i.data[start:end], i.line
			i.line += bytes.Count(item, newline)
			i.pos, i.first = end, false
			return item, line, true
		case end > 0, i.err != nil, len(i.data)-i.pos > mostItem, start < 0:
			return nil, 0, false
		}
		i.fill()
	}
}

var newline = []byte{'\n'}

// find returns where the next item begins and ends. The end is not above 0 where it has not been read yet, or there is
// none; the start is below 0 where the list ends.
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

// fill reads more of the list, behind what has not been returned yet.
func (i *itemReader) fill() {
	n := copy(i.data, i.data[i.pos:])
	i.data, i.pos = i.data[:n], 0
	if cap(i.data)-n < firstItems/2 {
		i.data = slices.Grow(i.data, max(firstItems, n)) // twice as much, so that what is searched again is little
	}
	n, err := io.ReadAtLeast(i.r, i.data[len(i.data):cap(i.data)], firstItems/2)
	i.data = i.data[:len(i.data)+n]
	if i.err = err; errors.Is(err, io.ErrUnexpectedEOF) { // fewer than at least
		i.err = io.EOF
	}
}

// rest returns what follows the last item, and its line, as the rest of a list whose opening bracket has been read; and
// whether an element stands before it.
func (i *itemReader) rest() (r io.Reader, line int, element bool) {
	r = i.r
	if i.err != nil {
		r = failedReader{i.err}
	}
	return io.MultiReader(bytes.NewReader(i.data[i.pos:]), r), i.line, !i.first
}

// failedReader has failed.
type failedReader struct{ err error }

func (f failedReader) Read([]byte) (int, error) { return 0, f.err }
