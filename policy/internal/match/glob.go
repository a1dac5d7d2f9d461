package match

import (
	"errors"
	"strings"
)

// Glob is a pattern in which every * matches any run of characters, including an empty run. No other character is
// special.
type Glob string

// UnmarshalText returns an error for the empty pattern, which would match only an empty value but look like a default,
// and for characters that do not print (see RejectUnprintable).
func (g *Glob) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New(`an empty pattern matches nothing: write "*" for everything`)
	}
	if err := RejectUnprintable(b, "pattern"); err != nil {
		return err
	}
	*g = Glob(b)
	return nil
}

// Match reports whether g matches the whole of s. It compares at most len(g)·len(s) bytes for any pattern.
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
		// The leftmost occurrence leaves the most text for the rest of the pattern, so no other occurrence has to be tried.
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], next
	}
}

// Overlaps reports whether a string exists that matches both g and h. Two patterns with a * overlap if one head begins
// with the other and one tail ends with the other. The middle of each pattern then fits between head and tail.
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

// IsWild reports whether g contains a *. Such a pattern can match more than one string.
func (g Glob) IsWild() bool { return strings.Contains(string(g), "*") }

// Head returns the part of g before its first *, or all of g if it does not contain a *.
func (g Glob) Head() string {
	head, _, _ := strings.Cut(string(g), "*")
	return head
}

// Tail returns the part of g after its last *, or all of g if it does not contain a *.
func (g Glob) Tail() string { return string(g[strings.LastIndexByte(string(g), '*')+1:]) }

// FirstGlob returns the first pattern that matches s. It returns false if no pattern matches.
func FirstGlob(patterns []Glob, s string) (Glob, bool) {
	for _, g := range patterns {
		if g.Match(s) {
			return g, true
		}
	}
	return "", false
}

// AnyGlob reports whether a pattern matches s.
func AnyGlob(patterns []Glob, s string) bool {
	_, ok := FirstGlob(patterns, s)
	return ok
}
