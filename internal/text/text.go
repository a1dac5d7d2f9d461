// Package text prepares text from a tenant, a peer or a policy for display. Such text may be as long as a whole
// request, so each function truncates first and formats afterwards. Its cost and its result are therefore limited for
// any input. TestBounded forbids the standard library's quoting and splitting in the packages that handle such text.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// Short is the number of bytes of a value that a message shows. It is enough to recognize the value, too little to
	// copy a snippet or a certificate into logs, and short enough for a warning (the API server recommends 120
	// characters).
	Short = 60
	// listed is the number of values that a message lists before it counts the others. Readers ignore longer lists.
	listed = 5

	ellipsis = "…"
)

// Quote returns the first Short bytes of s in double quotes. Characters that do not print are escaped, and an ellipsis
// follows if s is longer.
func Quote[S ~string | ~[]byte](s S) string {
	return QuoteUpTo(Short, string(s[:min(len(s), Short+1)])) // the additional byte shows that there are more
}

// QuoteUpTo is like Quote, for the first max bytes of s.
func QuoteUpTo(max int, s string) string {
	if len(s) <= max {
		return quote(s)
	}
	return quote(prefix(s, max)) + ellipsis
}

// quote returns s in double quotes, with the escapes of Escape.
func quote(s string) string { return unhash(strconv.Quote(s)) }

// unhash escapes the second of two number signs. Pipeline runners execute ##[command] and ##vso[command] anywhere in a
// line.
func unhash(s string) string { return strings.ReplaceAll(s, "##", `#\x23`) }

// Escape returns lines of text with an escape for each character that does not print, and for pipeline commands. The
// text may be long. The cost and the length of the result are linear in it.
func Escape(s string) string {
	strange := func(c rune) bool { return c != '\n' && !unicode.IsPrint(c) || c == utf8.RuneError }
	if !strings.ContainsFunc(s, strange) {
		return unhash(s)
	}
	var b strings.Builder
	for i, c := range s {
		size := utf8.RuneLen(c)
		if c == utf8.RuneError && !strings.HasPrefix(s[i:], string(c)) {
			size = 1 // a byte that is not UTF-8
		}
		if strange(c) {
			quoted := strconv.Quote(s[i : i+size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(c)
		}
	}
	return unhash(b.String())
}

// maxPath is the maximum length of a file name, in bytes. Linux does not open longer names.
const maxPath = 4096

// Path returns the name of a file for a message or a report. It quotes a name that could end the line, control a
// terminal or start a pipeline command, because the author of a pull request chooses the names of its files.
func Path(name string) string {
	strange := func(c rune) bool { return !unicode.IsPrint(c) || c == utf8.RuneError }
	if len(name) > maxPath || strings.Contains(name, "::") || strings.Contains(name, "##") ||
		strings.ContainsFunc(name, strange) {
		return QuoteUpTo(maxPath, name)
	}
	return name
}

// QuoteRune returns c in single quotes, escaped if it does not print.
func QuoteRune(c rune) string { return strconv.QuoteRune(c) }

// Truncate returns at most max bytes of s. If s is longer, the result ends with an ellipsis. It never splits a rune.
func Truncate(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return prefix(s, max-len(ellipsis)) + ellipsis
}

// TruncateRunes is like Truncate, with a limit in runes.
func TruncateRunes(s string, max int) string {
	n, last := 0, 0
	for i := range s {
		if n == max {
			return s[:last] + ellipsis
		}
		n, last = n+1, i
	}
	return s
}

// Printable returns at most max bytes of s as one line of printable text. Characters that do not print become spaces,
// bytes that are not UTF-8 become U+FFFD, and ##, which pipeline runners interpret, becomes # #.
func Printable(s string, max int) string {
	printable := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, Truncate(s, max))
	printable = strings.ReplaceAll(printable, "##", "# #")
	return Truncate(printable, max) // U+FFFD is longer than the byte that it replaces
}

// prefix returns at most n bytes of s. It never splits a rune.
func prefix(s string, n int) string {
	n = max(n, 0)
	for end := n; end > n-utf8.UTFMax && end >= 0; end-- {
		if utf8.RuneStart(s[end]) {
			return s[:end]
		}
	}
	return s[:n] // not UTF-8
}

// Strings returns values in the form in which sentences list them.
func Strings[T fmt.Stringer](values []T) []string {
	s := make([]string, len(values))
	for i, v := range values {
		s[i] = v.String()
	}
	return s
}

// Plain converts values to strings. It returns nil for an empty list.
func Plain[S ~string](values []S) []string {
	var s []string
	for _, v := range values {
		s = append(s, string(v))
	}
	return s
}

// List formats values for a sentence: "a", or "a, b, c". If there are more than five, it lists the first five and a
// count: "a, b, c, d, e and 7 more". The caller must quote values that come from an object.
func List[S ~string](values []S) string { return ListUpTo(listed, values) }

// ListUpTo is like List, for the first max values.
func ListUpTo[S ~string](max int, values []S) string {
	return AndMore(values[:min(len(values), max)], len(values)-max)
}

// AndMore lists the first values of a list, and the number of the others: "a, b and 7 more". If more is not above 0, it
// lists only the values.
func AndMore[S ~string](first []S, more int) string {
	size := 0
	for _, v := range first {
		size += len(v) + len(", ")
	}
	var b strings.Builder
	b.Grow(size + len(" and 1000000 more"))
	for i, v := range first {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(v))
	}
	if more > 0 {
		b.WriteString(" and " + strconv.Itoa(more) + " more")
	}
	return b.String()
}

// Name returns a name from an object unchanged. It quotes a name that would be ambiguous in a sentence or would control
// a terminal.
func Name(s string) string {
	const most = 253 // bytes, the maximum of a valid name
	strange := func(c rune) bool { return !unicode.IsGraphic(c) || unicode.IsSpace(c) }
	if s == "" || len(s) > most || strings.Contains(s, "##") || strings.ContainsFunc(s, strange) {
		return QuoteUpTo(most, s)
	}
	return s
}

// IsUTF16 reports whether a text begins like UTF-16: with a byte order mark, or with two characters of ASCII.
func IsUTF16(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	return b[0] == 0xff && b[1] == 0xfe || b[0] == 0xfe && b[1] == 0xff ||
		b[0] == 0 && b[1] != 0 && b[2] == 0 && b[3] != 0 || b[0] != 0 && b[1] == 0 && b[2] != 0 && b[3] == 0
}
