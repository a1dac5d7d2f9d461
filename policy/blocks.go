package policy

import (
	"fmt"

	"github.com/evergate/evergate/internal/text"
)

// denial is a field whose only value is deny: what it names must not be there.
type denial bool

// UnmarshalText accepts the word deny.
func (d *denial) UnmarshalText(b []byte) error {
	if string(b) != "deny" {
		return fmt.Errorf("%s is not known here: write deny, or leave the field out to allow it", text.Quote(b))
	}
	*d = true
	return nil
}

// errNoCheck refuses a rule, or a block of one, that would check nothing: a slip would look like protection.
func errNoCheck(fields string) error { return fmt.Errorf("checks nothing: write %s", fields) }

// passing ends a sentence with what would pass.
func passing[S ~string](allowed []S) string {
	if len(allowed) == 0 {
		return "; the policy allows none"
	}
	return "; allowed: " + text.List(allowed)
}

// stringsOf returns values as sentences list them.
func stringsOf[T fmt.Stringer](values []T) []string {
	s := make([]string, len(values))
	for i, v := range values {
		s[i] = v.String()
	}
	return s
}
