package policy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/evergate/evergate/internal/text"
)

// glob is a pattern in which every * stands for any run of characters, also an empty one. Nothing else is special.
type glob string

// UnmarshalText refuses the empty pattern, which would match nothing but look like a default, and control characters:
// a pattern stands in sentences as it is written, and the API server drops a warning that holds one.
func (g *glob) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New(`an empty pattern matches nothing: write "*" for everything`)
	}
	if err := refuseControl(b, "pattern"); err != nil {
		return err
	}
	*g = glob(b)
	return nil
}

// refuseControl returns an error for a text of a policy file that holds a control character; what is what it would be.
func refuseControl(b []byte, what string) error {
	if bytes.ContainsFunc(b, unicode.IsControl) {
		return fmt.Errorf("%s holds a control character, which no %s can", text.Quote(b), what)
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

// overlaps says whether some string is covered by both g and h. Of two patterns with a * some is as soon as the one
// begins as the other may and ends as the other may: what stands between the stars of both finds room between the two.
func (g glob) overlaps(h glob) bool {
	switch {
	case !g.wild():
		return h.match(string(g))
	case !h.wild():
		return g.match(string(h))
	}
	head, tail, otherHead, otherTail := g.head(), g.tail(), h.head(), h.tail()
	return (strings.HasPrefix(head, otherHead) || strings.HasPrefix(otherHead, head)) &&
		(strings.HasSuffix(tail, otherTail) || strings.HasSuffix(otherTail, tail))
}

func (g glob) wild() bool { return strings.Contains(string(g), "*") }

// head is what a pattern has before its first *: all of it when it has none.
func (g glob) head() string {
	head, _, _ := strings.Cut(string(g), "*")
	return head
}

// tail is what a pattern has after its last *: all of it when it has none.
func (g glob) tail() string { return string(g[strings.LastIndexByte(string(g), '*')+1:]) }

// matchAny returns the first of the patterns that covers s.
func matchAny(patterns []glob, s string) (glob, bool) {
	for _, g := range patterns {
		if g.match(s) {
			return g, true
		}
	}
	return "", false
}
