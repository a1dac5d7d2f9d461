package jsonscan

import (
	"slices"
	"strconv"
)

// Null reads the next value if it is null, and reports whether it was.
func (r *Reader) Null() bool {
	c, _ := peek(r.data, r.pos)
	return c == 'n' && r.err == nil && r.Raw() != nil
}

// IsString reports whether the next value is a string.
func (r *Reader) IsString() bool { return r.begins('"') }

// IsObject reports whether the next value is an object.
func (r *Reader) IsObject() bool { return r.begins('{') }

// IsList reports whether the next value is a list.
func (r *Reader) IsList() bool { return r.begins('[') }

// RejectCollection skips a value and stops the reader with an error that an object or a list was expected.
func (r *Reader) RejectCollection() {
	if raw := r.Raw(); raw != nil {
		r.Reject("want an object or a list, got " + noun(kindOf(raw[0])))
	}
}

func (r *Reader) begins(with byte) bool {
	c, _ := peek(r.data, r.pos)
	return c == with && r.err == nil
}

// Raw skips the next value and returns its text. It returns nil if the reader has an error. The result is a part of the
// data of the Reader, not a copy.
func (r *Reader) Raw() []byte {
	_, start := peek(r.data, r.pos)
	if r.skip(); r.err != nil {
		return nil
	}
	return r.data[start:r.pos]
}

// RawOf calls read, which reads one value, and returns the text of this value. It returns nil if the reader has an
// error. The result is a part of the data of the Reader, not a copy.
func (r *Reader) RawOf(read func()) []byte {
	_, start := peek(r.data, r.pos)
	if read(); r.err != nil {
		return nil
	}
	return r.data[start:r.pos]
}

// Present skips an object and reports whether there was an object. It returns false for null.
func (r *Reader) Present() bool { return r.value('{') != nil }

// String reads a string. It returns an empty string for null.
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
	case len(content) > longestEscape*r.limits.Text: // each byte of the value takes at most longestEscape bytes here
		r.exceed(TextLimit)
		return ""
	}
	return r.Text(r.unescape(content, r.limits.Text))
}

// Text copies b into a string, and counts its length against the limit on text. Most strings are short. Text puts short
// strings into shared blocks of memory, because they are used together and released at the same time. Allocating each
// string separately would double the allocations of a review.
func (r *Reader) Text(b []byte) string {
	const (
		firstBlock = 512     // large enough for the strings of a small Pod
		mostBlock  = 8 << 10 // limits the memory that a block can waste
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
		r.block.Reset() // releases the block; strings in it keep its memory
		r.block.Grow(size)
	}
	start := r.block.Len()
	r.block.Write(b)
	return r.block.String()[start:]
}

// OptionalString reads a string. It returns nil for null.
func (r *Reader) OptionalString() *string {
	if r.Null() {
		return nil
	}
	return new(r.String())
}

// Bool reads true or false. It returns false for null.
func (r *Reader) Bool() bool {
	raw := r.value('t')
	return raw != nil && raw[0] == 't'
}

// OptionalBool reads true or false. It returns nil for null.
func (r *Reader) OptionalBool() *bool {
	if r.Null() {
		return nil
	}
	return new(r.Bool())
}

// Int32 reads a whole number without a fraction or exponent, as the API server requires. It returns 0 for null.
func (r *Reader) Int32() int32 {
	raw := r.value('0')
	if raw == nil {
		return 0
	}
	const most = 20 // digits; more than any 32-bit number has
	n, err := strconv.ParseInt(string(raw[:min(len(raw), most)]), 10, 32)
	if err != nil {
		r.Reject("want a whole number of 32 bits, got " + string(raw[:min(len(raw), most)]))
	}
	return int32(n)
}

// Strings reads a list of strings. It returns nil for null and for an empty list.
func (r *Reader) Strings() (list []string) {
	for range r.Items {
		list = append(Grown(list), r.String())
	}
	return list
}

// StringMap reads a map of strings to strings. It returns nil for null, but not for an empty map. A duplicate key is an
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
			r.Reject("duplicate key")
		}
	}
	return m
}

// Optional reads an object with read. It returns nil for null.
func Optional[T any](r *Reader, read func(*Reader, *T)) *T {
	if r.Null() {
		return nil
	}
	v := new(T)
	read(r, v)
	return v
}

// List reads a list of objects with read. It returns nil for null and for an empty list.
func List[T any](r *Reader, read func(*Reader, *T)) (list []T) {
	for range r.Items {
		list = append(Grown(list), *new(T))
		read(r, &list[len(list)-1])
	}
	return list
}

// Grown returns list with capacity for at least one more element. append grows a long list by only a quarter each time,
// so building the list would allocate about five times its final memory. Grown doubles the capacity instead.
func Grown[T any](list []T) []T {
	const common = 4 // most lists do not have more elements
	if len(list) < cap(list) {
		return list
	}
	return slices.Grow(list, max(common, len(list)))
}

// value reads a value of the given kind and returns its text. The kind is ", { or [ for values that start with this
// byte, 0 for all numbers, and t for both booleans. value returns nil for null, and after an error.
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

// kindOf returns the kind of a value from its first byte.
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
