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
		return strconv.Quote(s)
	}
	return strconv.Quote(prefix(s, max)) + ellipsis
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

// Printable returns at most max bytes of s as one line of printable text: control characters become spaces, and bytes
// that are not UTF-8 U+FFFD.
func Printable(s string, max int) string {
	printable := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, Truncate(s, max))
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
	if s == "" || len(s) > most || strings.ContainsFunc(s, strange) {
		return QuoteUpTo(most, s)
	}
	return s
}
