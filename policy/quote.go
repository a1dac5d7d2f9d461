package policy

import (
	"strconv"
	"unicode/utf8"
)

// maxQuoted is how many bytes of a value stand in a sentence: enough to recognise it, too few to spread a snippet or a
// certificate into logs, and short enough for a warning (the API server advises 120 characters).
const maxQuoted = 60

// quoted returns s as users shall read it: in double quotes, cut where it is long, and with everything escaped that
// does not print. The API server drops a warning that holds a control character without a word.
func quoted(s string) string { return quotedUpTo(maxQuoted, s) }

// quotedUpTo is quoted for at most so many bytes of s.
func quotedUpTo(most int, s string) string {
	if len(s) <= most {
		return strconv.Quote(s)
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "…"
}
