package jsonscan

import (
	"slices"
	"strconv"
)

// Null reads a null if one comes next, and reports whether it did.
func (r *Reader) Null() bool {
	c, _ := peek(r.data, r.pos)
	return c == 'n' && r.err == nil && r.Raw() != nil
}

// IsString reports whether a string comes next.
func (r *Reader) IsString() bool { return r.begins('"') }

// IsObject reports whether an object comes next.
func (r *Reader) IsObject() bool { return r.begins('{') }

// IsList reports whether a list comes next.
func (r *Reader) IsList() bool { return r.begins('[') }

// RejectCollection reads over a value and fails, saying that an object or a list was wanted.
func (r *Reader) RejectCollection() {
	if raw := r.Raw(); raw != nil {
		r.Reject("want an object or a list, got " + noun(kindOf(raw[0])))
	}
}

func (r *Reader) begins(with byte) bool {
	c, _ := peek(r.data, r.pos)
	return c == with && r.err == nil
}

// Raw reads over a value and returns its text; nil if it is none.
func (r *Reader) Raw() []byte {
	_, start := peek(r.data, r.pos)
	if r.skip(); r.err != nil {
		return nil
	}
	return r.data[start:r.pos]
}

// RawOf returns the text of the value that read reads; nil if it is none.
func (r *Reader) RawOf(read func()) []byte {
	_, start := peek(r.data, r.pos)
	if read(); r.err != nil {
		return nil
	}
	return r.data[start:r.pos]
}

// Present reads over an object and reports whether there is one; null is none.
func (r *Reader) Present() bool { return r.value('{') != nil }

// String reads a string; null is the empty one.
func (r *Reader) String() string {
	c, i := peek(r.data, r.pos)
	if c != '"' || r.err != nil {
		r.value('"')
		return ""
	}
	content, plain := r.quoted(i)
	switch {
	case plain:
		return r.Text(content)
	case len(content) > longestEscape*r.limits.Text: // of which at least a byte stands for each longestEscape
		r.exceed(TextLimit)
		return ""
	}
	return r.Text(r.unescape(content, r.limits.Text))
}

// Text copies bytes into a string. Short strings, as most are, lie in common blocks of memory: they are needed together
// and for the same time, and an allocation for each would double the allocations of a review.
func (r *Reader) Text(b []byte) string {
	const (
		firstBlock = 512     // holds the strings of a small Pod
		mostBlock  = 8 << 10 // so that little is in vain, whatever comes
	)
	if r.kept.Text += len(b); r.kept.Text > r.limits.Text {
		r.exceed(TextLimit)
		return ""
	}
	if len(b) > firstBlock/4 {
		return string(b)
	}
	if r.block.Cap()-r.block.Len() < len(b) {
		size := min(max(firstBlock, 2*r.block.Cap()), mostBlock)
		r.block.Reset() // releases the block; the strings in it stay
		r.block.Grow(size)
	}
	start := r.block.Len()
	r.block.Write(b)
	return r.block.String()[start:]
}

// OptionalString reads a string; null is nil.
func (r *Reader) OptionalString() *string {
	if r.Null() {
		return nil
	}
	return new(r.String())
}

// Bool reads true or false; null is false.
func (r *Reader) Bool() bool {
	raw := r.value('t')
	return raw != nil && raw[0] == 't'
}

// OptionalBool reads true or false; null is nil.
func (r *Reader) OptionalBool() *bool {
	if r.Null() {
		return nil
	}
	return new(r.Bool())
}

// Int32 reads a whole number, written without fraction and exponent as the API server demands; null is 0.
func (r *Reader) Int32() int32 {
	raw := r.value('0')
	if raw == nil {
		return 0
	}
	const most = 20 // digits: more than 32 bits have
	n, err := strconv.ParseInt(string(raw[:min(len(raw), most)]), 10, 32)
	if err != nil {
		r.Reject("want a whole number of 32 bits, got " + string(raw[:min(len(raw), most)]))
	}
	return int32(n)
}

// Strings reads a list of strings; null and an empty list are nil.
func (r *Reader) Strings() (list []string) {
	for range r.Items {
		list = append(Grown(list), r.String())
	}
	return list
}

// StringMap reads a map of strings to strings; null is nil, and an empty map is not. A key that stands twice is an
// error.
func (r *Reader) StringMap() map[string]string {
	if r.Null() {
		return nil
	}
	m := map[string]string{}
	for name := range r.Members {
		r.count()
		before := len(m)
		m[r.Text(name)] = r.String()
		if len(m) == before {
			r.Reject("stands twice")
		}
	}
	return m
}

// Optional reads an object; null is nil.
func Optional[T any](r *Reader, read func(*Reader, *T)) *T {
	if r.Null() {
		return nil
	}
	v := new(T)
	read(r, v)
	return v
}

// List reads a list of objects; null and an empty list are nil.
func List[T any](r *Reader, read func(*Reader, *T)) (list []T) {
	for range r.Items {
		list = append(Grown(list), *new(T))
		read(r, &list[len(list)-1])
	}
	return list
}

// Grown returns a list with room for one more element. append alone lets a long list grow by a quarter, so that it
// takes five times its memory until it is complete.
func Grown[T any](list []T) []T {
	const common = 4 // most lists have no more
	if len(list) < cap(list) {
		return list
	}
	return slices.Grow(list, max(common, len(list)))
}

// value reads a value whose first byte is of the given kind: ", {, [, 0 for all numbers, t for both booleans. It
// returns nil for null.
func (r *Reader) value(want byte) []byte {
	if r.err != nil {
		return nil
	}
	raw := r.Raw()
	if raw == nil {
		return nil
	}
	switch got := kindOf(raw[0]); got {
	case want:
		return raw
	case 'n':
	default:
		r.Reject("want " + noun(want) + ", got " + noun(got))
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

func noun(kind byte) string {
	switch kind {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't':
		return "true or false"
	case '{':
		return "an object"
	default:
		return "a list"
	}
}
