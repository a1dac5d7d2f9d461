package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// setName is match.set of an entry: the set of rules that the entry is in. A review has no labels of namespaces, but an
// entry of a webhook configuration selects by them: its path names a set, and the rules of the set judge what it sends.
// An entry that names a set judges nothing else, and one without a set judges what is sent to the path of its kind. An
// object whose namespace both select is judged by both, in two reviews, so that no finding is reported twice.
type setName string

// UnmarshalText refuses a text that is no DNS label: the name is part of a path.
func (s *setName) UnmarshalText(b []byte) error {
	if !IsSet(string(b)) {
		return fmt.Errorf("%s is not the name of a set: use only lower case letters, digits and -, at most 63, "+
			"and neither end a -", text.Quote(b))
	}
	*s = setName(b)
	return nil
}

// IsSet reports whether a text can be the name of a set: whether it is a DNS label (RFC 1123).
func IsSet(s string) bool {
	return s != "" && len(s) <= 63 && s[0] != '-' && s[len(s)-1] != '-' && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-'
	})
}

// maxSets is how many sets a policy may have: each takes an entry in a webhook configuration, which the API server
// calls for each object that it selects.
const maxSets = 100

// set returns the set that the entry is in; empty for none.
func (h *header) set() string {
	if h.Match == nil {
		return ""
	}
	return string(h.Match.Set)
}

// bySet returns the entries without a set, and those of each set by its name.
func (b *blocks) bySet(errs *strict.Collector) (plain *blocks, sets map[string]*blocks) {
	named := map[string]bool{}
	b.headers(func(h *header) {
		if s := h.set(); s != "" && !named[s] {
			if named[s] = true; len(named) == maxSets+1 {
				errs.Errorf(h.Pos, "match.set: %s is one set too many: a policy has at most %d", s, maxSets)
			}
		}
	})
	if len(named) == 0 || len(named) > maxSets {
		return b, nil
	}
	plain, sets = new(blocks), map[string]*blocks{}
	b.addTo(func(set string) *blocks {
		switch {
		case set == "":
			return plain
		case sets[set] == nil:
			sets[set] = new(blocks)
		}
		return sets[set]
	})
	return plain, sets
}

// names returns the names of the blocks that have entries.
func (b *blocks) names() []string {
	var names []string
	for field, entries := range b.all() {
		if entries.Len() > 0 {
			names = append(names, field.Tag.Get("yaml"))
		}
	}
	return names
}

// compileSets compiles the entries of each set into a policy of its own, so that an object that is judged by one does
// not pay for the others.
func (p *Policy) compileSets(sets map[string]*blocks, c compilation, errs *strict.Collector) {
	for name, b := range sets {
		in := &Policy{set: name, plain: p, blocks: b.names(), templates: p.templates}
		in.mirrors, in.counts = p.mirrors, b.counts()
		b.compile(in, c, errs)
		if p.sets == nil {
			p.sets = map[string]*Policy{}
		}
		p.sets[name] = in
	}
}

// Sets returns the names of the sets that entries are in, also those that are off, sorted.
func (p *Policy) Sets() []string { return slices.Sorted(maps.Keys(p.sets)) }

// In returns the policy of a set: the entries of pods, ingresses, services and so on that are in it. Mirrors and owners
// are in none. It is nil where no entry of any of the blocks is in the set.
func (p *Policy) In(set string, blocks ...string) *Policy {
	in := p.sets[set]
	if in == nil || !slices.ContainsFunc(blocks, func(name string) bool { return slices.Contains(in.blocks, name) }) {
		return nil
	}
	return in
}

// whole returns the policy that a set is of, or the policy itself.
func (p *Policy) whole() *Policy {
	if p.plain != nil {
		return p.plain
	}
	return p
}

// Set returns the name of the set of a policy that In has returned; empty for others.
func (p *Policy) Set() string { return p.set }

// SetsOf returns those of names that are sets of the policy; all of its sets where one of the names is *.
func (p *Policy) SetsOf(names []string) []string {
	var sets []string
	for _, set := range p.Sets() {
		if slices.Contains(names, set) || slices.Contains(names, "*") {
			sets = append(sets, set)
		}
	}
	return sets
}
