// Package match compares what an object holds with the patterns of a policy file: globs, hosts, addresses, images and
// regular expressions. It knows neither rules nor objects nor findings.
//
// Types of patterns implement encoding.TextUnmarshaler. Their errors are sentences for the author of the policy: they
// quote the text, truncated, and say what to write instead. Values of objects are parsed by functions such as ParseHost
// and ParseReference, which bound their cost and the length of their errors, since a tenant chooses the value.
//
//	glob.go       text with *: namespaces, users, annotation keys, tags
//	host.go       host names and wildcards
//	host_set.go   many of them, looked up together
//	address.go    IP addresses, address ranges and their union
//	reference.go  image references as container runtimes read them
//	malformed.go  why a text is not an image reference
//	registry.go   the one spelling of a registry
//	place.go      registries and paths as policies name them, wildcards
//	image.go      patterns for images, looked up together
//	regex.go      regular expressions that match a whole value
//
// A look-up in a set costs as many steps as its documentation says, however many patterns the set has. A step is about
// what comparing a short value with one pattern costs: 20 to 40 ns. This package counts none: methods such as
// Regex.Steps say in advance how many a comparison takes, and the caller counts them.
package match

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/evergate/evergate/internal/text"
)

// RefuseControl returns an error for a text of a policy file that contains a control character: sentences show the
// text as it is written, and the API server drops a warning that contains one. The error calls the text what.
func RefuseControl(b []byte, what string) error {
	if bytes.ContainsFunc(b, unicode.IsControl) {
		return fmt.Errorf("%s holds a control character, which no %s can", text.Quote(b), what)
	}
	return nil
}

// LowerASCII returns s with the letters A to Z in lower case and no others, as DNS compares names: strings.ToLower
// would turn the Kelvin sign into a k. It allocates only where it changes something.
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
