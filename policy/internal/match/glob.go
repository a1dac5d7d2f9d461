package match

import (
	"errors"
	"strings"
)

// Glob is a pattern in which every * matches any run of characters, also an empty one. No other character is special.
type Glob string

// UnmarshalText refuses the empty pattern, which would match nothing but look like a default, and control characters:
// see RefuseControl.
func (g *Glob) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New(`an empty pattern matches nothing: write "*" for everything`)
	}
	if err := RefuseControl(b, "pattern"); err != nil {
		return err
	}
	*g = Glob(b)
	return nil
}

// Match reports whether g matches the whole of s. It compares at most len(g)·len(s) bytes, whatever the pattern.
func (g Glob) Match(s string) bool {
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
		// The leftmost occurrence leaves the most text to the rest of the pattern, so no other need be tried.
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], next
	}
}

// Overlaps reports whether some string matches both g and h. Two patterns with a * overlap if one head begins with the
// other and one tail ends with the other: what stands between the stars of each fits between head and tail.
func (g Glob) Overlaps(h Glob) bool {
	switch {
	case !g.IsWild():
		return h.Match(string(g))
	case !h.IsWild():
		return g.Match(string(h))
	}
	head, tail, otherHead, otherTail := g.Head(), g.Tail(), h.Head(), h.Tail()
	return (strings.HasPrefix(head, otherHead) || strings.HasPrefix(otherHead, head)) &&
		(strings.HasSuffix(tail, otherTail) || strings.HasSuffix(otherTail, tail))
}

// IsWild reports whether g has a *, so that it can match more than one string.
func (g Glob) IsWild() bool { return strings.Contains(string(g), "*") }

// Head returns what g has before its first *; all of it when it has none.
func (g Glob) Head() string {
	head, _, _ := strings.Cut(string(g), "*")
	return head
}

// Tail returns what g has after its last *; all of it when it has none.
func (g Glob) Tail() string { return string(g[strings.LastIndexByte(string(g), '*')+1:]) }

// FirstGlob returns the first of the patterns that matches s, and whether there is one.
func FirstGlob(patterns []Glob, s string) (Glob, bool) {
	for _, g := range patterns {
		if g.Match(s) {
			return g, true
		}
	}
	return "", false
}
