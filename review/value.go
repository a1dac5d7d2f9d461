package review

import (
	"slices"
	"strconv"
)

// null says whether a null comes next, and reads it if so.
func (r *reader) null() bool {
	c, _ := peek(r.data, r.pos)
	return c == 'n' && r.err == nil && r.raw() != nil
}

// present reads over an object and says whether there is one; null is none.
func (r *reader) present() bool { return r.value('{') != nil }

// string reads a string; null is the empty one.
func (r *reader) string() string {
	c, i := peek(r.data, r.pos)
	if c != '"' || r.err != nil {
		r.value('"')
		return ""
	}
	end, plain := skipString(r.data, i)
	if end < 0 {
		r.malformed()
		return ""
	}
	r.pos = end
	content := r.data[i+1 : end-1]
	switch {
	case plain:
		return r.text(content)
	case len(content) > longestEscape*maxText: // of which at least a byte stands for each longestEscape
		r.exceed(tooMuchText)
		return ""
	}
	return r.text(r.unescape(content))
}

// oneOf reads a string as string does, and makes no copy if it is one of the known ones.
func (r *reader) oneOf(known []string) string {
	rest := r.data[r.pos:]
	for _, s := range known {
		if n := len(s) + 2; len(rest) >= n && rest[0] == '"' && rest[n-1] == '"' && string(rest[1:n-1]) == s && r.err == nil {
			r.pos += n
			return s
		}
	}
	return r.string()
}

// text copies bytes into a string. Short strings, which most are, share blocks of memory: they are needed together and
// as long as one another, and an allocation for each would double the allocations of a review.
func (r *reader) text(b []byte) string {
	const (
		firstBlock = 512     // holds the strings of a small Pod
		mostBlock  = 8 << 10 // so that little is in vain, whatever comes
	)
	if r.kept.text += len(b); r.kept.text > maxText {
		r.exceed(tooMuchText)
		return ""
	}
	if len(b) > firstBlock/4 {
		return string(b)
	}
	if r.block.Cap()-r.block.Len() < len(b) {
		size := min(max(firstBlock, 2*r.block.Cap()), mostBlock)
		r.block.Reset() // lets go of the block; the strings in it stay
		r.block.Grow(size)
	}
	start := r.block.Len()
	r.block.Write(b)
	return r.block.String()[start:]
}

// optionalString reads a string; null is nil.
func (r *reader) optionalString() *string {
	if r.null() {
		return nil
	}
	return new(r.string())
}

// bool reads true or false; null is false.
func (r *reader) bool() bool {
	raw := r.value('t')
	return raw != nil && raw[0] == 't'
}

// optionalBool reads true or false; null is nil.
func (r *reader) optionalBool() *bool {
	if r.null() {
		return nil
	}
	return new(r.bool())
}

// int32 reads a whole number, written without fraction and exponent as the API server demands; null is 0.
func (r *reader) int32() int32 {
	raw := r.value('0')
	if raw == nil {
		return 0
	}
	const most = 20 // digits: more than 32 bits have
	n, err := strconv.ParseInt(string(raw[:min(len(raw), most)]), 10, 32)
	if err != nil {
		r.reject("want a whole number of 32 bits, got " + string(raw[:min(len(raw), most)]))
	}
	return int32(n)
}

// strings reads a list of strings.
func (r *reader) strings() []string {
	list := r.texts.begin()
	for range r.items {
		list = append(list, r.string())
	}
	return r.texts.end(list)
}

// lists are short lists that are needed together, such as the paths of each host of an Ingress. They share blocks of memory:
// otherwise nearly all allocations of a large object would be theirs. One is read after the other.
type lists[T any] struct {
	free []T // what is left of a block
	size int // of that block
}

// begin returns an empty list, to be appended to until end.
func (l *lists[T]) begin() []T {
	const firstBlock, mostBlock = 8, 256 // elements
	if cap(l.free) == 0 {
		l.size = min(max(firstBlock, 2*l.size), mostBlock)
		l.free = make([]T, 0, l.size)
	}
	return l.free[:0]
}

// end returns a list that is complete, nil if it is empty. Nothing can be appended to it in place.
func (l *lists[T]) end(list []T) []T {
	n := len(list)
	l.free = list[n:] // of the same block, or of one that the list has moved to since it did not fit
	if n == 0 {
		return nil
	}
	return list[:n:n]
}

// stringMap reads a map of strings to strings; null is nil, and an empty map is not.
func (r *reader) stringMap() map[string]string {
	if r.null() {
		return nil
	}
	m := map[string]string{}
	for name := range r.members {
		r.count()
		before := len(m)
		m[r.text(name)] = r.string()
		if len(m) == before {
			r.reject("stands twice")
		}
	}
	return m
}

// optional reads an object; null is nil.
func optional[T any](r *reader, read func(*reader, *T)) *T {
	if r.null() {
		return nil
	}
	v := new(T)
	read(r, v)
	return v
}

// list reads a list of objects.
func list[T any](r *reader, read func(*reader, *T)) []T { return listIn(new(lists[T]), r, read) }

// listIn reads a list of objects into memory that it shares with others.
func listIn[T any](room *lists[T], r *reader, read func(*reader, *T)) []T {
	values := room.begin()
	start := r.pos
	for range r.items {
		if n := len(values); n == cap(values) {
			values = slices.Grow(values, r.outlook(n, start))
		}
		var zero T
		values = append(values, zero)
		read(r, &values[len(values)-1])
	}
	return room.end(values)
}

// doubled returns a list with room for one more element. append alone lets a long list grow by a quarter, so that it takes
// five times its memory until it is complete.
func doubled[T any](list []T) []T {
	if len(list) < cap(list) {
		return list
	}
	return slices.Grow(list, max(1, len(list)))
}

// outlook returns how many more elements a list may have, of which n have been read since start: as many as fit into the rest of the text
// if they are as long, and no more than three times as many, since something else may follow. To double the list again and again would take as
// much memory once more as it needs.
func (r *reader) outlook(n, start int) int {
	each := (r.pos - start) / n // at least two bytes
	return min((len(r.data)-r.pos)/each+1, 3*n)
}

// value reads a value whose first byte is of the given kind: ", {, [, 0 for all numbers, t for both booleans. It returns
// nil for null.
func (r *reader) value(want byte) []byte {
	if r.err != nil {
		return nil
	}
	raw := r.raw()
	if raw == nil {
		return nil
	}
	switch got := kindOf(raw[0]); got {
	case want:
		return raw
	case 'n':
	default:
		r.reject("want " + nouns[want] + ", got " + nouns[got])
	}
	return nil
}

// kindOf tells the kind of a value by its first byte.
func kindOf(first byte) byte {
	switch {
	case first == 'f':
		return 't'
	case first == '-' || digit(first):
		return '0'
	}
	return first
}

var nouns = map[byte]string{
	'"': "a string", '0': "a number", 't': "true or false", '{': "an object", '[': "a list",
}
