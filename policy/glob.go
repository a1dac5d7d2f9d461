package policy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// glob is a pattern in which every * stands for any run of characters, also an empty one. Nothing else is special.
type glob string

// UnmarshalText refuses the empty pattern, which would match nothing but look like a default, and control characters:
// a pattern stands in sentences as it is written, and the API server drops a warning that holds one.
func (g *glob) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New(`an empty pattern matches nothing: write "*" for everything`)
	}
	if err := refuseControl(text, "pattern"); err != nil {
		return err
	}
	*g = glob(text)
	return nil
}

// refuseControl returns an error for a text of a policy file that holds a control character; what is what it would be.
func refuseControl(text []byte, what string) error {
	if bytes.ContainsFunc(text, unicode.IsControl) {
		return fmt.Errorf("%q holds a control character, which no %s can", text, what)
	}
	return nil
}

// match says whether g covers the whole of s. It takes at most len(g)·len(s) steps, whatever the pattern.
func (g glob) match(s string) bool {
	head, rest, wild := strings.Cut(string(g), "*")
	if !wild {
		return s == head
	}
	if !strings.HasPrefix(s, head) {
		return false
	}
	s = s[len(head):]
	for {
		part, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(s, part)
		}
		// The leftmost place is as good as any: what follows has only more room.
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], next
	}
}

// overlaps says whether some string is covered by both g and h.
func (g glob) overlaps(h glob) bool {
	// reach[j] says that g[:i] and h[:j] can cover a common string.
	reach := make([]bool, len(h)+1)
	for i := 0; i <= len(g); i++ {
		diagonal := false
		for j := 0; j <= len(h); j++ {
			above := reach[j]
			switch {
			case i == 0 && j == 0:
				reach[j] = true
			case i > 0 && g[i-1] == '*' && (above || j > 0 && reach[j-1]):
				reach[j] = true
			case j > 0 && h[j-1] == '*' && (reach[j-1] || i > 0 && above):
				reach[j] = true
			default:
				reach[j] = i > 0 && j > 0 && diagonal && g[i-1] == h[j-1]
			}
			diagonal = above
		}
	}
	return reach[len(h)]
}

// matchAny returns the first of the patterns that covers s.
func matchAny(patterns []glob, s string) (glob, bool) {
	for _, g := range patterns {
		if g.match(s) {
			return g, true
		}
	}
	return "", false
}
