package jsonscan

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape returns the value of a JSON string. content is the bytes between its quotes, which the scanner has checked.
// Each byte that is not UTF-8 and each half of a surrogate pair is replaced by U+FFFD. The result is valid until the
// next call. If the value is longer than most bytes, the result may be cut off, but is also longer than most bytes.
func (r *Reader) unescape(content []byte, most int) []byte {
	out := r.scratch[:0]
	limit := most + replacement*maxRun
	if need := min(len(content), limit); cap(out) < need {
		if !utf8.Valid(content[:min(len(content), longestEscape*most)]) {
			need *= replacement
		}
		out = make([]byte, 0, min(max(need, 2*cap(out)), limit)) // doubled, because the next string may be longer
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

// replacement is the length of U+FFFD, which may replace a single byte.
const replacement = len("\ufffd")

// longestEscape is the maximum number of escaped bytes for one byte of the value, for example \u0041 for A.
const longestEscape = 6

// maxRun is the maximum number of bytes without escapes that unescape copies before it checks the length again.
const maxRun = 64 << 10

// runEnd returns the number of bytes of content that unescape copies in one step. The first maxRun bytes of content
// must not contain an escape. runEnd does not split a rune.
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

// appendValid appends b to out, and replaces each byte that is not UTF-8 by U+FFFD.
func appendValid(out, b []byte) []byte {
	if utf8.Valid(b) {
		return append(out, b...)
	}
	for len(b) > 0 {
		n := 1
		if b[0] < 0xF8 { // UTF-8 has no larger byte, and DecodeRune would take half of the time of a review of such bytes
			_, n = utf8.DecodeRune(b)
		}
		if n > 1 || b[0] < utf8.RuneSelf {
			out = append(out, b[:n]...)
		} else {
			out = append(out, "\ufffd"...)
		}
		b = b[n:]
	}
	return out
}

// appendEscapes appends the values of the escapes at the start of content, and the short runs of plain bytes between
// them, because searching for the end of a short run takes longer than copying it. It returns out and the rest of
// content. It stops earlier if out becomes longer than most bytes.
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

// escapedByte returns the value of the escape that consists of a backslash and c.
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
	return c // a quote, a backslash or a slash
}

// escapedRune returns the value and the length of the escape at the start of content, for example \u00e9. If this
// escape and the next are a surrogate pair, it returns the value of the pair and the length of both escapes.
func escapedRune(content []byte) (rune, int) {
	const long = len(`\u0000`)
	high := hexRune(content)
	if utf16.IsSurrogate(high) && len(content) >= 2*long && content[long] == '\\' && content[long+1] == 'u' {
		if c := utf16.DecodeRune(high, hexRune(content[long:])); c != utf8.RuneError {
			return c, 2 * long
		}
	}
	return high, long // utf8.AppendRune writes U+FFFD for half of a pair
}

// hexRune returns the number in an escape such as \u00e9. The scanner has checked its digits. The value of a digit is
// the low four bits of its character, plus nine if it is a letter. In ASCII, letters have the seventh bit set and
// decimal digits do not.
func hexRune(escape []byte) rune {
	b := binary.BigEndian.Uint32(escape[2:6])
	b = b&0x0f0f0f0f + 9*(b>>6&0x01010101)
	b = (b | b>>4) & 0x00ff00ff
	return rune(b|b>>8) & 0xffff
}
