// Package match compares the values of objects with the patterns of a policy file: globs, hosts, addresses, images and
// regular expressions. It does not depend on rules, objects or findings.
//
// Pattern types implement encoding.TextUnmarshaler. Their errors are sentences for the author of the policy. They quote
// the text, truncated, and suggest a valid text. Functions such as ParseHost and ParseReference parse the values of
// objects. They bound their cost and the length of their errors, because a tenant chooses the values.
//
//	glob.go           text with *: namespaces, users, annotation keys, tags
//	alphabet.go       the characters of namespaces and tags
//	host.go           host names and wildcards
//	host_template.go  host patterns with the label {namespace}
//	host_set.go       sets of host patterns
//	host_owners.go    the owners of hosts
//	address.go        IP addresses, address ranges and their union
//	reference.go      image references as container runtimes read them
//	malformed.go      the reasons why a text is not an image reference
//	registry.go       the normal spelling of a registry
//	place.go          registries, paths and wildcards in policies
//	image.go          image patterns and sets of them
//	regex.go          regular expressions that match a whole value
//
// The documentation of a set describes how many steps a look-up takes. The number does not depend on the number of
// patterns. A step takes about as long as comparing a short value with one pattern: 20 to 40 ns. This package does not
// count steps. Methods such as Regex.Steps return the number of steps before a comparison, and the caller counts them.
package match

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evergate/evergate/internal/text"
)

// RejectUnprintable returns an error if a text of a policy file contains a character that does not print. Messages show
// the text as it is written. The API server drops a warning that contains a control character, and other characters,
// such as U+202E, change the order in which a terminal shows a line. The error uses what as the noun for the text.
func RejectUnprintable(b []byte, what string) error {
	if c, found := Unprintable(b); found {
		return fmt.Errorf("%s contains %U, which does not print, so no %s can contain it", text.Quote(b), c, what)
	}
	return nil
}

// Unprintable returns the first character of a text that does not print. Spaces print.
func Unprintable(b []byte) (c rune, found bool) {
	i := bytes.IndexFunc(b, func(c rune) bool { return !unicode.IsPrint(c) })
	if i < 0 {
		return 0, false
	}
	c, _ = utf8.DecodeRune(b[i:])
	return c, true
}

// IsAlphanumeric reports whether s contains only ASCII letters, digits and the characters in others.
func IsAlphanumeric(s, others string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}

// LowerASCII returns s with the letters A to Z in lower case. It does not change any other letters, as DNS compares
// names. strings.ToLower would turn the Kelvin sign into a k. LowerASCII allocates only if it changes s.
func LowerASCII(s string) string {
	for i := range len(s) {
		if s[i]-'A' <= 'Z'-'A' { // bytes below A wrap around
			return strings.Map(func(r rune) rune {
				if 'A' <= r && r <= 'Z' {
					return r + 'a' - 'A'
				}
				return r
			}, s)
		}
	}
	return s
}
