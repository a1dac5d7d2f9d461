package jsonscan

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape returns what the content of a JSON string, which the scanner has checked, stands for, with U+FFFD for each
// byte that is not UTF-8 and each half of a surrogate pair. It is valid until the next call. Of what is longer than
// most bytes it returns some more than those.
func (r *Reader) unescape(content []byte, most int) []byte {
	out := r.scratch[:0]
	limit := most + replacement*maxRun
	if need := min(len(content), limit); cap(out) < need {
		if !utf8.Valid(content[:min(len(content), longestEscape*most)]) {
			need *= replacement
		}
		out = make([]byte, 0, min(max(need, 2*cap(out)), limit)) // twice, since a string may be longer than the one before
	}
	for len(content) > 0 && len(out) <= most {
		if content[0] == '\\' {
			out, content = appendEscapes(out, content, most)
			continue
		}
		end := bytes.IndexByte(content[:min(len(content), maxRun)], '\\')
		if end < 0 {
			end = runEnd(content)
		}
		out = appendValid(out, content[:end])
		content = content[end:]
	}
	r.scratch = out
	return out
}

// replacement is the length of U+FFFD, which stands for a single byte.
const replacement = len("\ufffd")

// longestEscape is how many bytes an escape has for each byte that it stands for, at most: \u0041.
const longestEscape = 6

// maxRun is how many bytes without an escape are taken at once, after which the length is looked at again.
const maxRun = 64 << 10

// runEnd returns how much of content, whose first maxRun bytes have no escape, is taken at once. It splits no rune.
func runEnd(content []byte) int {
	if len(content) <= maxRun {
		return len(content)
	}
	for end := maxRun; end > maxRun-utf8.UTFMax; end-- {
		if utf8.RuneStart(content[end]) {
			return end
		}
	}
	return maxRun // not UTF-8
}

// appendValid appends b, with U+FFFD for each byte that is not UTF-8.
func appendValid(out, b []byte) []byte {
	if utf8.Valid(b) {
		return append(out, b...)
	}
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 {
			out = append(out, "\ufffd"...)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

// appendEscapes appends what the escapes at the start of content stand for, and short runs of plain bytes between them:
// searching for the end of a short run takes longer than copying it. It returns what comes after them, or more where
// out is longer than most bytes.
func appendEscapes(out, content []byte, most int) (_, rest []byte) {
	const short = 8
	i := 0
	for plain := 0; i < len(content) && len(out) <= most && plain < short; {
		c := content[i]
		switch {
		case c >= utf8.RuneSelf:
			return out, content[i:]
		case c != '\\':
			out = append(out, c)
			i++
			plain++
			continue
		case content[i+1] != 'u':
			out = append(out, escapedByte(content[i+1]))
			i += 2
		default:
			c, n := escapedRune(content[i:])
			if c < utf8.RuneSelf {
				out = append(out, byte(c))
			} else {
				out = utf8.AppendRune(out, c)
			}
			i += n
		}
		plain = 0
	}
	return out, content[i:]
}

// escapedByte returns what a backslash and c stand for.
func escapedByte(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // a quote, a backslash, a slash
}

// escapedRune returns what the escape such as \u00e9 that content begins with stands for, together with the one behind
// it where they are a surrogate pair, and how long it is.
func escapedRune(content []byte) (rune, int) {
	const long = len(`\u0000`)
	high := hexRune(content)
	if utf16.IsSurrogate(high) && len(content) >= 2*long && content[long] == '\\' && content[long+1] == 'u' {
		if c := utf16.DecodeRune(high, hexRune(content[long:])); c != utf8.RuneError {
			return c, 2 * long
		}
	}
	return high, long // utf8.AppendRune writes U+FFFD for half a pair
}

// hexRune returns the number in an escape such as \u00e9, whose digits the scanner has checked. A digit is the low half
// of its character, and nine more if it is a letter, whose seventh bit is set in ASCII.
func hexRune(escape []byte) rune {
	b := binary.BigEndian.Uint32(escape[2:6])
	b = b&0x0f0f0f0f + 9*(b>>6&0x01010101)
	b = (b | b>>4) & 0x00ff00ff
	return rune(b|b>>8) & 0xffff
}
