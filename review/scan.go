package review

import (
	"encoding/binary"
	"math/bits"
)

// The scanner says where a JSON value ends, and nothing else: what is wrong with a text that is not JSON is told by
// jsontext, which then reads it again. It takes what jsontext takes (RFC 8259, with any bytes in strings), no more and no
// less: FuzzScan compares the two. It exists because most of what a review costs is getting past fields that decide
// nothing; docs/decisions/0010-own-scanner.md has the figures.
//
// Its functions take a text and a position in it and return the position behind what they have read, or notJSON.

// notJSON is returned instead of a position.
const notJSON = -1

// skip returns where the value at i ends. room is how many levels deep it may be nested.
func skip(data []byte, i, room int) int {
	var levels [32]byte // more than any object has; deeper ones take memory of their own
	open := levels[:0]  // for each object or list around i, what closes it
	name := false       // not a value comes next but the name of a field
	for {
		if i = space(data, i); i >= len(data) {
			return notJSON
		}
		switch c := data[i]; {
		case c == '"':
			if i, _ = skipString(data, i); i < 0 {
				return notJSON
			}
			if name {
				if i = space(data, i); i >= len(data) || data[i] != ':' {
					return notJSON
				}
				i++
				name = false
				continue
			}
		case name:
			return notJSON
		case c == '{', c == '[':
			if len(open) >= room {
				return notJSON
			}
			closer := c + 2 // in ASCII } is two after {, and ] after [
			if i = space(data, i+1); i >= len(data) || data[i] != closer {
				open = append(open, closer)
				name = c == '{'
				continue
			}
			i++
		default:
			if i = skipScalar(data, i); i < 0 {
				return notJSON
			}
		}
		// A value has ended before i, and with it maybe those around it.
		for {
			if len(open) == 0 {
				return i
			}
			if i = space(data, i); i >= len(data) {
				return notJSON
			}
			c, closer := data[i], open[len(open)-1]
			i++
			if c == ',' {
				name = closer == '}'
				break
			}
			if c != closer {
				return notJSON
			}
			open = open[:len(open)-1]
		}
	}
}

// Eight bytes are looked at as one number: ones has the lowest bit of each byte set, high the highest. In a mask the
// highest bit of a byte is set if the byte is one that is looked for. Above the first such byte the borrow of the
// subtraction may set others too; the first is always right.
const ones, high = 0x0101010101010101, 0x8080808080808080

// skipString reads the string whose first quote is at i, and says whether it stands for exactly the bytes between its
// quotes: it has no escape and only ASCII.
func skipString(data []byte, i int) (end int, plain bool) {
	var other uint64 // has a bit of high for what is not ASCII
	plain = true
	for i++; ; {
		for ; i+8 <= len(data); i += 8 {
			b := binary.LittleEndian.Uint64(data[i:])
			quote, slash := b^ones*'"', b^ones*'\\'
			mask := ((quote-ones)&^quote | (slash-ones)&^slash | (b-ones*' ')&^b) & high
			if mask != 0 {
				i += bits.TrailingZeros64(mask) / 8
				other |= b & (mask&-mask - 1) // of what stands before it
				break
			}
			other |= b
		}
		for ; ; i++ { // the last bytes of the text, or the byte that was found
			if i >= len(data) {
				return notJSON, false
			}
			c := data[i]
			if c == '"' {
				return i + 1, plain && other&high == 0
			}
			if c < ' ' {
				return notJSON, false
			}
			if c == '\\' {
				if i = skipEscape(data, i); i < 0 {
					return notJSON, false
				}
				plain = false
				break
			}
			other |= uint64(c)
		}
	}
}

// skipEscape reads the escape whose backslash is at i.
func skipEscape(data []byte, i int) int {
	if i+1 >= len(data) {
		return notJSON
	}
	switch data[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 > len(data) {
			return notJSON
		}
		for _, c := range data[i+2 : i+6] {
			if !digit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return notJSON
			}
		}
		return i + 6
	}
	return notJSON
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

// space returns where the first byte is, from i on, that is no white space.
func space(data []byte, i int) int {
	for i < len(data) && data[i] <= ' ' && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}
