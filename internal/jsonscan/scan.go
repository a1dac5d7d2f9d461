package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// The scanner only finds the end of a JSON value. If a text is not JSON, jsontext reads it again and returns the error.
// The scanner accepts the same texts as jsontext (RFC 8259, with any bytes in strings). FuzzScan compares the two.
//
// The functions of the scanner take a text and a position in it. They return the position after the bytes that they
// have read, or notJSON.

// The scanner returns these values instead of a position.
const (
	notJSON = -1
	tooDeep = -2 // nested deeper than allowed; the rest of the text has not been checked
)

// Skip returns the position after the value at i. The result is negative if the value is not JSON, is cut off, or is
// nested deeper than MaxDepth.
func Skip(data []byte, i int) int { return skip(data, i, MaxDepth) }

// skip returns the position after the value at i, which may be nested up to room levels deep. It reads strings inline,
// because a function call would take as long as reading most strings.
func skip(data []byte, i, room int) int {
	var around levels
	var name bool // a field name is expected next, not a value
	var c byte
	for {
		switch c, i = peek(data, i); {
		case c == '"':
			found := uint64(0)
			for i++; i+8 <= len(data); i += 8 {
				if found = special(binary.LittleEndian.Uint64(data[i : i+8])); found != 0 {
					i += bits.TrailingZeros64(found) / 8
					break
				}
			}
			if found != 0 && data[i] == '"' {
				i++
			} else {
				i = skipRest(data, i)
			}
		case name || c == 0:
			return notJSON
		case c == '{', c == '[':
			if around.n == room {
				return tooDeep
			}
			if around.n == mostLevels {
				i = skip(data, i, room-mostLevels)
				break
			}
			around = around.enter(c)
			if c, i = peek(data, i+1); c != around.closer() {
				name = around.inObject()
				continue
			}
		default:
			i = skipScalar(data, i)
		}
		if i < 0 {
			return i
		}
		if name {
			if c, i = peek(data, i); c != ':' {
				return notJSON
			}
			i++
			name = false
			continue
		}
		// A value has ended before i. The objects and lists around it may end here too.
		for ; ; around, i = around.leave(), i+1 {
			if around.n == 0 {
				return i
			}
			if c, i = peek(data, i); c != around.closer() {
				break
			}
		}
		if c != ',' {
			return notJSON
		}
		i++
		name = around.inObject()
	}
}

// levels represents the objects and lists around a position in a text, up to mostLevels of them.
type levels struct {
	n       int
	objects uint64 // one bit for each level, 1 for an object and 0 for a list; the innermost is the lowest bit
}

const mostLevels = 64

func (l levels) enter(opener byte) levels {
	return levels{l.n + 1, l.objects<<1 | uint64(opener>>5&1)} // in ASCII, { is [ with the sixth bit set
}

func (l levels) leave() levels { return levels{l.n - 1, l.objects >> 1} }

func (l levels) inObject() bool { return l.objects&1 != 0 }

// closer returns the byte that ends the innermost object or list. In ASCII, } is ] with the sixth bit set.
func (l levels) closer() byte { return ']' | byte(l.objects&1)<<5 }

// peek returns the first byte at or after i that is not white space, and its position. At the end of the text, the byte
// is 0.
func peek(data []byte, i int) (byte, int) {
	if i < len(data) && data[i] > ' ' {
		return data[i], i
	}
	if i = Space(data, i); i < len(data) {
		return data[i], i
	}
	return 0, i
}

// The functions below read eight bytes as one number. ones has the lowest bit of each byte set, and high has the
// highest.
const ones, high = 0x0101010101010101, 0x8080808080808080

// skipString returns the position after the string whose first quote is at i. If plain is true, the string contains
// only ASCII without escapes, so its value is exactly the bytes between its quotes. If the string ends in the last
// seven bytes of the text, plain may be false for such a string too.
func skipString(data []byte, i int) (end int, plain bool) {
	var before uint64 // has a bit of high set if a byte so far is not ASCII
	for i++; i+8 <= len(data); i += 8 {
		b := binary.LittleEndian.Uint64(data[i : i+8])
		found := special(b)
		if found == 0 {
			before |= b
			continue
		}
		before |= b & (found&-found - 1)
		if i += bits.TrailingZeros64(found) / 8; data[i] != '"' {
			break
		}
		return i + 1, before&high == 0
	}
	return skipRest(data, i), false
}

// skipRest returns the position after the string around i. i must be inside the quotes of the string.
func skipRest(data []byte, i int) int {
	for {
		for i+8 <= len(data) {
			found := special(binary.LittleEndian.Uint64(data[i : i+8]))
			if found != 0 {
				i += bits.TrailingZeros64(found) / 8
				break
			}
			i += 8
		}
		switch {
		case i == len(data) || data[i] < ' ':
			return notJSON
		case data[i] == '"':
			return i + 1
		case data[i] != '\\':
			i++ // one of the last seven bytes of the text
		default:
			if i = skipEscapes(data, i); i < 0 {
				return notJSON
			}
		}
	}
}

// skipEscapes skips the escapes that begin at i, and short runs of plain bytes between them. A tenant can write a text
// that consists only of escapes. Searching for the next escape then takes longer than reading byte by byte.
func skipEscapes(data []byte, i int) int {
	const most = 8
	for plain := 0; i < len(data) && plain < most; {
		switch c := data[i]; {
		case c != '\\' && (c == '"' || c < ' '):
			return i
		case c != '\\':
			i++
			plain++
			continue
		case i+6 <= len(data) && data[i+1] == 'u' && isHex(binary.LittleEndian.Uint32(data[i+2:i+6])):
			i += 6
		case i+2 <= len(data) && isShortEscape(data[i+1]):
			i += 2
		default:
			return notJSON
		}
		plain = 0
	}
	return i
}

// isShortEscape reports whether a backslash followed by c is an escape.
func isShortEscape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

// special finds the first of eight bytes that is a quote, a backslash or a control character. The lowest bit of its
// result is the highest bit of this byte. The highest bits of later bytes may be set too, even if they are not special.
// The result is 0 if there is no such byte.
func special(b uint64) uint64 {
	// Inverting one bit turns a quote into 0x20 and keeps control characters below 0x20, so all special bytes except
	// the backslash are below 0x21. If a byte is below a bound, the subtraction sets its highest bit. The borrow may
	// also set the highest bits of the bytes above it.
	quote, slash := b^ones*('"'^' '), b^ones*'\\'
	return ((quote-ones*(' '+1))&^quote | (slash-ones)&^slash) & high
}

// isHex reports whether four bytes are hexadecimal digits. The addition sets the highest bit of each byte that is at
// least as large as a bound. This works only if no byte has its highest bit set before, which the return statement
// checks.
func isHex(b uint32) bool {
	const ones, high = 0x01010101, 0x80808080
	lower := b | ones*0x20
	digits := (b + ones*(0x80-'0')) &^ (b + ones*(0x80-'9'-1))
	letters := (lower + ones*(0x80-'a')) &^ (lower + ones*(0x80-'f'-1))
	return (digits|letters)&^b&high == high
}

// skipScalar returns the position after the true, false, null or number at i.
func skipScalar(data []byte, i int) int {
	switch data[i] {
	case 't':
		return skipWord(data, i, "true")
	case 'f':
		return skipWord(data, i, "false")
	case 'n':
		return skipWord(data, i, "null")
	default:
		return skipNumber(data, i)
	}
}

func skipWord(data []byte, i int, word string) int {
	if len(data)-i < len(word) || string(data[i:i+len(word)]) != word {
		return notJSON
	}
	return i + len(word)
}

func skipNumber(data []byte, i int) int {
	if data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++ // no digit may follow a leading 0
	} else if i = skipDigits(data, i); i < 0 {
		return notJSON
	}
	if i < len(data) && data[i] == '.' {
		if i = skipDigits(data, i+1); i < 0 {
			return notJSON
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		if i++; i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		return skipDigits(data, i)
	}
	return i
}

// skipDigits returns the position after one or more digits.
func skipDigits(data []byte, i int) int {
	start := i
	for i < len(data) && digit(data[i]) {
		i++
	}
	if i == start {
		return notJSON
	}
	return i
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// Space returns the position of the first byte at or after i that is not white space, or the length of data. It reads
// eight spaces at a time, because indented texts contain many of them.
func Space(data []byte, i int) int {
	for i < len(data) && data[i] <= ' ' && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		for i++; i+8 <= len(data); i += 8 {
			if other := binary.LittleEndian.Uint64(data[i:i+8]) ^ ones*' '; other != 0 {
				i += bits.TrailingZeros64(other) / 8
				break
			}
		}
	}
	return i
}
