package text

import "strconv"

// Thousands formats a number with separators, as in 200,000.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count returns a number with the thing that it counts: 1 object, 2,000 objects.
func Count(n int, thing string) string { return Thousands(n) + " " + Plural(n, thing) }

// Plural returns a word for n things: the word itself if n is 1, and otherwise the word with an s.
func Plural(n int, thing string) string {
	if n == 1 {
		return thing
	}
	return thing + "s"
}
