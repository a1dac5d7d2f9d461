package rule

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// setName is match.set of an entry: the name of the rule set that the entry is in. An admission review does not contain
// namespace labels, but a webhook in a webhook configuration can select namespaces by labels. The path of such a
// webhook contains the name of a rule set, and the rules of the set evaluate the objects that the webhook sends. An
// entry in a rule set does not evaluate other objects. An entry without a rule set evaluates the objects that are sent
// to the path of its kind. If two webhooks select the namespace of an object, both evaluate it, in two separate
// reviews, so no finding is reported twice.
type setName string

// UnmarshalText returns an error if the text is not a DNS label, because the name is part of a path.
func (s *setName) UnmarshalText(b []byte) error {
	if !IsSet(string(b)) {
		return fmt.Errorf("%s is not the name of a rule set: use at most 63 lower case letters, digits and -, "+
			"without - at either end", text.Quote(b))
	}
	*s = setName(b)
	return nil
}

// IsSet reports whether a text can be the name of a rule set: whether it is a DNS label (RFC 1123).
func IsSet(s string) bool {
	return s != "" && len(s) <= 63 && s[0] != '-' && s[len(s)-1] != '-' && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-'
	})
}

// Set returns the rule set that the entry is in, or an empty string if it is not in a set.
func (h *Header) Set() string {
	if h.Match == nil {
		return ""
	}
	return string(h.Match.Set)
}
