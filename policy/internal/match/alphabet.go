package match

import (
	"errors"
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// Alphabet is what the values of a kind are written with, so that a pattern that matches none of them can be refused.
type Alphabet struct {
	what    string // the values are, in a sentence
	bytes   string // beside lower case letters and digits
	longest int    // in bytes
	upper   bool   // upper case letters too
	written string // in a sentence: what they are written with
}

// Namespaces is that of the names of namespaces: DNS labels (RFC 1123).
func Namespaces() Alphabet {
	return Alphabet{"a namespace", "-", 63, false, "lower case letters, digits and -, at most 63"}
}

// Tags is that of the tags of images, by the grammar of references.
func Tags() Alphabet {
	return Alphabet{"a tag", "_.-", 128, true, "letters, digits, _ . and -, at most 128"}
}

// Check returns an error where a pattern matches no value, with the pattern that was probably meant.
func (a Alphabet) Check(g Glob) error {
	if a.has(g) {
		return nil
	}
	msg := fmt.Sprintf("%s matches nothing: %s is written with %s", text.Quote(string(g)), a.what, a.written)
	if meant := a.meant(g); a.has(meant) {
		msg += "; write " + string(meant)
	}
	return errors.New(msg)
}

// has reports whether a pattern can match a value.
func (a Alphabet) has(g Glob) bool {
	n := 0
	for _, c := range []byte(g) {
		switch {
		case c == '*':
			continue
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', a.upper && 'A' <= c && c <= 'Z', strings.IndexByte(a.bytes, c) >= 0:
		default:
			return false
		}
		n++
	}
	return g != "" && n <= a.longest
}

// meant returns a pattern without what others mean by one: a regular expression, an image before a tag, upper case.
func (a Alphabet) meant(g Glob) Glob {
	s := strings.TrimSpace(string(g[:min(len(g), 4*a.longest)]))
	s = strings.TrimSuffix(strings.TrimPrefix(s, "^"), "$")
	s = strings.ReplaceAll(s, ".*", "*")
	s = s[strings.LastIndexByte(s, ':')+1:]
	if !a.upper {
		s = LowerASCII(s)
	}
	return Glob(s)
}
