// Package text prepares what a tenant, a peer or a policy has written for being shown. Such a value may be as long as a
// whole request, so each function truncates first and formats afterwards: its cost and its result are bounded, whatever
// the value. TestBounded keeps the standard library's own quoting and splitting out of the packages that handle such
// values.
package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// Short is how many bytes of a value a sentence shows: enough to recognise it, too little to spread a snippet or a
	// certificate into logs, and short enough for a warning (the API server advises 120 characters).
	Short = 60
	// listed is how many values a sentence names before it counts the rest: more than a handful is not read.
	listed = 5

	ellipsis = "…"
)

// Quote returns the first Short bytes of s in double quotes, with everything escaped that does not print, and an
// ellipsis where s is longer.
func Quote[S ~string | ~[]byte](s S) string {
	return QuoteUpTo(Short, string(s[:min(len(s), Short+1)])) // one byte more than is shown tells that there are more
}

// QuoteUpTo is Quote for the first max bytes of s.
func QuoteUpTo(max int, s string) string {
	if len(s) <= max {
		return quote(s)
	}
	return quote(prefix(s, max)) + ellipsis
}

// quote returns s in double quotes, escaped like the lines of Escape.
func quote(s string) string { return unhash(strconv.Quote(s)) }

// unhash escapes the second of two number signs. The runners of pipelines obey ##[command] and ##vso[command] anywhere
// in a line.
func unhash(s string) string { return strings.ReplaceAll(s, "##", `#\x23`) }

// Escape returns lines of text with an escape for each character that does not print, and for commands of pipelines.
// The text may be long: its cost and its result are linear in it.
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

// maxPath bounds the name of a file in bytes. Linux does not open a longer one.
const maxPath = 4096

// Path returns the name of a file for a message or a report. A name that could end the line, control a terminal or
// start a command of a pipeline is quoted, because a pull request chooses the names of its files.
func Path(name string) string {
	strange := func(c rune) bool { return !unicode.IsPrint(c) || c == utf8.RuneError }
	if len(name) > maxPath || strings.Contains(name, "::") || strings.Contains(name, "##") ||
		strings.ContainsFunc(name, strange) {
		return QuoteUpTo(maxPath, name)
	}
	return name
}

// QuoteRune returns c in single quotes, escaped where it does not print.
func QuoteRune(c rune) string { return strconv.QuoteRune(c) }

// Truncate returns at most max bytes of s, the last of which are an ellipsis where s is longer. It never splits a rune.
func Truncate(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return prefix(s, max-len(ellipsis)) + ellipsis
}

// TruncateRunes is Truncate for a limit in runes.
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
// bytes that are not UTF-8 become U+FFFD, and ##, which runners of pipelines obey, becomes # #.
func Printable(s string, max int) string {
	printable := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, Truncate(s, max))
	printable = strings.ReplaceAll(printable, "##", "# #")
	return Truncate(printable, max) // U+FFFD is longer than the byte that it stands for
}

// prefix returns at most n bytes of s. It never splits a rune.
func prefix(s string, n int) string {
	n = max(n, 0)
	for end := n; end > n-utf8.UTFMax && end > 0; end-- {
		if utf8.RuneStart(s[end]) {
			return s[:end]
		}
	}
	return s[:n] // not UTF-8
}

// List names values in a sentence: "a", "a, b, c", or, when there are more than five, the first of them and a count:
// "a, b, c, d, e and 7 more". The caller must quote values that come from an object.
func List[S ~string](values []S) string { return ListUpTo(listed, values) }

// ListUpTo is List for the first max values.
func ListUpTo[S ~string](max int, values []S) string {
	return AndMore(values[:min(len(values), max)], len(values)-max)
}

// AndMore names the first values of a list, and how many more there are: "a, b and 7 more". It names no others where
// more is not above 0.
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

// Name returns a name from an object as it is, or quoted where it could not be told apart from the sentence around it,
// or would do something to a terminal.
func Name(s string) string {
	const most = 253 // bytes, which a name has at most
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
