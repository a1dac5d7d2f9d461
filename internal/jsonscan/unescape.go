package jsonscan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape returns what the content of a JSON string, which the scanner has checked, stands for, with U+FFFD for each byte
// that is not UTF-8 and each half of a surrogate pair. It is valid until the next call. Of a string that would be longer
// than what may be kept it returns no more than tells Text so.
func (r *Reader) unescape(content []byte) []byte {
	out := r.scratch[:0]
	if cap(out) == 0 {
		out = make([]byte, 0, min(replacement*len(content), r.limits.Text+replacement*maxRun))
	}
	for len(content) > 0 && len(out) <= r.limits.Text {
		if content[0] == '\\' {
			out, content = r.appendEscapes(out, content)
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

// appendEscapes appends what the escapes stand for that content begins with, and the few plain bytes between them: to
// search for the end of a short run takes longer than to copy it. It returns what comes after them, or more where out is
// longer than may be kept.
func (r *Reader) appendEscapes(out, content []byte) (_, rest []byte) {
	const few = 8
	plain := 0 // since the last escape
	for len(content) > 0 && len(out) <= r.limits.Text && plain < few {
		c := content[0]
		switch {
		case c >= utf8.RuneSelf:
			return out, content
		case c != '\\':
			out, content = append(out, c), content[1:]
			plain++
			continue
		case content[1] == 'u':
			var c rune
			c, content = escapedRune(content)
			out = utf8.AppendRune(out, c)
		default:
			out, content = append(out, escapedByte(content[1])), content[2:]
		}
		plain = 0
	}
	return out, content
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

// escapedRune returns what the escape such as \u00e9 that content begins with stands for, together with the one behind it
// where they are a surrogate pair, and what comes after.
func escapedRune(content []byte) (rune, []byte) {
	const long = len(`\u0000`)
	high := hexRune(content)
	content = content[long:]
	if utf16.IsSurrogate(high) && len(content) >= long && content[0] == '\\' && content[1] == 'u' {
		if c := utf16.DecodeRune(high, hexRune(content)); c != utf8.RuneError {
			return c, content[long:]
		}
	}
	return high, content // utf8.AppendRune writes U+FFFD for half a pair
}

// hexRune returns the number in an escape such as \u00e9.
func hexRune(escape []byte) rune {
	var n rune
	for _, c := range escape[2:6] { // the scanner has checked that they are digits
		if digit(c) {
			n = n<<4 | rune(c-'0')
		} else {
			n = n<<4 | rune(c|0x20-'a'+10)
		}
	}
	return n
}
