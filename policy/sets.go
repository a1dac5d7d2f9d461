package policy

import (
	"maps"
	"slices"

	"github.com/evergate/evergate/policy/internal/strict"
)

// maxSets is how many rule sets a policy may have. Each set needs a webhook in a webhook configuration, and the API
// server calls it for each object that it selects.
const maxSets = 100

// bySet returns the entries that are not in a rule set, and a map of the other entries by the name of their rule set.
func (b *blocks) bySet(errs *strict.Collector) (plain *blocks, sets map[string]*blocks) {
	named := map[string]bool{}
	for h := range b.headers {
		if s := h.Set(); s != "" && !named[s] {
			if named[s] = true; len(named) == maxSets+1 {
				errs.Errorf(h.Pos, "match.set: %s is one rule set too many: a policy has at most %d", s, maxSets)
			}
		}
	}
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

func (b *blocks) names() []string {
	var names []string
	for field, entries := range b.all() {
		if entries.Len() > 0 {
			names = append(names, field.Tag.Get("yaml"))
		}
	}
	return names
}

// compileSets compiles the entries of each rule set into a separate policy, so an object that one set evaluates does
// not pay for the other sets.
func (p *Policy) compileSets(sets map[string]*blocks, c compilation, errs *strict.Collector) {
	c.whole = p.podRules
	for name, b := range sets {
		in := &Policy{set: name, blocks: b.names(), templates: p.templates}
		in.mirrors, in.counts = p.mirrors, b.counts()
		b.compile(in, c, errs)
		if p.sets == nil {
			p.sets = map[string]*Policy{}
		}
		p.sets[name] = in
	}
}

// Sets returns the sorted names of all rule sets that contain entries, including entries in mode off.
func (p *Policy) Sets() []string { return slices.Sorted(maps.Keys(p.sets)) }

// In returns the policy of a rule set: the entries of pods, ingresses, services and so on that are in the set. Mirrors
// and owners cannot be in a rule set. It returns nil if none of the given blocks has an entry in the set.
func (p *Policy) In(set string, blocks ...string) *Policy {
	in := p.sets[set]
	if in == nil || !slices.ContainsFunc(blocks, func(name string) bool { return slices.Contains(in.blocks, name) }) {
		return nil
	}
	return in
}

// Set returns the name of the rule set of a policy that In returned. It is empty for other policies.
func (p *Policy) Set() string { return p.set }

// SetsOf returns the rule sets of the policy whose names are in names. It returns all rule sets if names contains *.
func (p *Policy) SetsOf(names []string) []string {
	var sets []string
	for _, set := range p.Sets() {
		if slices.Contains(names, set) || slices.Contains(names, "*") {
			sets = append(sets, set)
		}
	}
	return sets
}
