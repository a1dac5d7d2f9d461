package match

import (
	"errors"
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// Alphabet describes the characters and the maximum length of a kind of value, for example of namespaces. Check uses it
// to find patterns that cannot match any value of that kind.
type Alphabet struct {
	what    string // a value, as the subject of a sentence
	bytes   string // allowed characters other than lower case letters and digits
	longest int    // maximum length in bytes
	upper   bool   // upper case letters are allowed too
	written string // allowed characters and maximum length, for error messages
}

// Namespaces returns the alphabet of namespace names, which are DNS labels (RFC 1123).
func Namespaces() Alphabet {
	return Alphabet{"a namespace", "-", 63, false, "lower case letters, digits and -, at most 63"}
}

// Tags returns the alphabet of image tags in the grammar of image references.
func Tags() Alphabet {
	return Alphabet{"a tag", "_.-", 128, true, "letters, digits, _ . and -, at most 128"}
}

// Check returns an error if g cannot match any value. If possible, the error suggests the pattern that was probably
// meant.
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

// has reports whether g can match a value.
func (a Alphabet) has(g Glob) bool {
	s := strings.ReplaceAll(string(g), "*", "")
	return g != "" && len(s) <= a.longest && IsAlphanumeric(s, a.bytes) && (a.upper || s == LowerASCII(s))
}

// meant returns g without common mistakes: the anchors and the .* of a regular expression, an image name in front of a
// tag, and upper case letters.
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

// CheckUser returns an error if g begins like a group of service accounts, because no user has such a name.
func CheckUser(g Glob) error {
	if strings.HasPrefix(string(g), "system:serviceaccounts") {
		return fmt.Errorf("%s matches no user: it is a group of service accounts; write it in a list of groups, or write "+
			"system:serviceaccount:NAMESPACE:NAME", text.Quote(string(g)))
	}
	return nil
}

// CheckGroup returns an error if g begins like a service account, because no group has such a name.
func CheckGroup(g Glob) error {
	if strings.HasPrefix(string(g), "system:serviceaccount:") {
		return fmt.Errorf("%s matches no group: it is a service account; write it in a list of users, or write "+
			"system:serviceaccounts:NAMESPACE", text.Quote(string(g)))
	}
	return nil
}
