package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// The scanner says where a JSON value ends, and nothing else: what is wrong with a text that is not JSON, jsontext
// says, which then reads it again. It accepts what jsontext accepts (RFC 8259, with any bytes in strings): FuzzScan
// compares the two.
//
// Its functions take a text and a position in it and return the position behind what they have read, or notJSON.

// What is returned instead of a position.
const (
	notJSON = -1
	tooDeep = -2 // perhaps JSON, and nested deeper than there is room for
)

// Skip returns where the value at i ends. It is not above 0 for what is not JSON, or has been cut off.
func Skip(data []byte, i int) int { return skip(data, i, MaxDepth) }

// Space returns where the first byte is, from i on, that is no white space.
func Space(data []byte, i int) int { return space(data, i) }

// skip returns where the value at i ends. room is how many levels deep it may be nested. Strings are read in place: a
// call for each would take as long as most strings do.
func skip(data []byte, i, room int) int {
	var around levels
	var name bool // not a value comes next but the name of a field
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
		// A value has ended before i, and with it maybe those around it.
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

// levels are the objects and lists around a place in a text, of which it has room for mostLevels.
type levels struct {
	n       int
	objects uint64 // a bit for each, the innermost lowest: whether it is an object and not a list
}

const mostLevels = 64

func (l levels) enter(opener byte) levels {
	return levels{l.n + 1, l.objects<<1 | uint64(opener>>5&1)} // in ASCII { is [ with the sixth bit
}

func (l levels) leave() levels { return levels{l.n - 1, l.objects >> 1} }

func (l levels) inObject() bool { return l.objects&1 != 0 }

// closer is what ends the innermost: in ASCII } is ] with the sixth bit.
func (l levels) closer() byte { return ']' | byte(l.objects&1)<<5 }

// peek returns the first byte from i on that is no white space, and where it is; 0 at the end of the text.
func peek(data []byte, i int) (byte, int) {
	if i < len(data) && data[i] > ' ' {
		return data[i], i
	}
	if i = space(data, i); i < len(data) {
		return data[i], i
	}
	return 0, i
}

// The functions below take eight bytes as one number: ones has the lowest bit of each byte set, high the highest.
const ones, high = 0x0101010101010101, 0x8080808080808080

// skipString reads the string whose first quote is at i. plain says that it stands for exactly the bytes between its
// quotes: it has no escape and only ASCII. Of a string at the very end of the text that is not said.
func skipString(data []byte, i int) (end int, plain bool) {
	var before uint64 // has a bit of high for what is not ASCII
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

// skipRest reads the rest of a string, from i on.
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
			i++ // one of the last bytes of the text
		default:
			if i = skipEscapes(data, i); i < 0 {
				return notJSON
			}
		}
	}
}

// skipEscapes reads the escapes that begin at i, and short runs of plain bytes between them. A tenant may write nothing
// else, and searching for the next escape takes longer than reaching it.
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

// isShortEscape reports whether a backslash and c are an escape.
func isShortEscape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

// special returns the highest bit of the first of eight bytes that is special in a string: a quote, a backslash or a
// control character; 0 if none is. Bits of bytes behind it may be set too.
func special(b uint64) uint64 {
	// To change one bit makes 0x20 of a quote, and leaves the control characters below that: then all are below 0x21. A
	// byte that is below a bound sets the highest bit of its difference, and its borrow maybe that of bytes above it.
	quote, slash := b^ones*('"'^' '), b^ones*'\\'
	return ((quote-ones*(' '+1))&^quote | (slash-ones)&^slash) & high
}

// isHex reports whether four bytes are hexadecimal digits. Each byte that is at least as large as a bound gets its
// highest bit by the addition, as long as none has it before.
func isHex(b uint32) bool {
	const ones, high = 0x01010101, 0x80808080
	lower := b | ones*0x20
	digits := (b + ones*(0x80-'0')) &^ (b + ones*(0x80-'9'-1))
	letters := (lower + ones*(0x80-'a')) &^ (lower + ones*(0x80-'f'-1))
	return (digits|letters)&^b&high == high
}

// skipScalar reads true, false, null or a number.
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
		i++ // and no other digit behind it
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

// skipDigits reads one digit or more.
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

// space returns where the first byte is, from i on, that is no white space. Indentation is many blanks.
func space(data []byte, i int) int {
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
