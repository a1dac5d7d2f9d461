package policy

import (
	"slices"
)

// ruleset is the rules of one kind, in the order of the policy, with an index by namespace. A platform team writes one
// or more rules for each tenant: the cost of an object must not depend on the rules of the other tenants.
type ruleset[T any] struct {
	rules     []rule[T]
	index     ruleIndex
	strictest Mode // of the rules; Off when there are none
	known     *knownAnnotations

	exceptions *exceptions // of the policy; nil for none
	// isSolver reports whether an object has the shape of a solver of ACME challenges; nil for kinds without solvers.
	isSolver func(*T, *report) bool
}

// strictestMode implements rules.
func (s *ruleset[T]) strictestMode() Mode { return s.strictest }

// newRuleset indexes rules.
func newRuleset[T any](rules []rule[T]) *ruleset[T] {
	s := &ruleset[T]{rules: rules, index: ruleIndex{names: map[string][]int{}, prefixes: map[string][]int{}}}
	for i := range rules {
		s.index.add(i, rules[i].Match)
		s.strictest = max(s.strictest, rules[i].Mode)
	}
	return s
}

// ruleIndex finds the rules that can match a namespace: all that do, and those that share a prefix with them. Its lists
// hold indexes of rules, in the order of the policy.
type ruleIndex struct {
	names    map[string][]int // by namespace, of match.namespaces without *
	prefixes map[string][]int // by the head of a pattern with *; rules for every namespace have the head ""
	lengths  []int            // of the prefixes, each once
}

// add adds rule i, which follows those that were added before. A match without namespaces matches all of them; one with
// an empty list matches none.
func (x *ruleIndex) add(i int, match *selector) {
	if match == nil || match.Namespaces == nil {
		x.addPrefix("", i)
		return
	}
	for _, g := range match.Namespaces {
		if g.IsWild() {
			x.addPrefix(g.Head(), i)
		} else {
			addOnce(x.names, string(g), i)
		}
	}
}

// addPrefix adds rule i for the namespaces that begin with prefix.
func (x *ruleIndex) addPrefix(prefix string, i int) {
	if !slices.Contains(x.lengths, len(prefix)) {
		x.lengths = append(x.lengths, len(prefix))
	}
	addOnce(x.prefixes, prefix, i)
}

// addOnce adds i to a list, unless it is its last element.
func addOnce(lists map[string][]int, key string, i int) {
	if list := lists[key]; len(list) == 0 || list[len(list)-1] != i {
		lists[key] = append(list, i)
	}
}

// candidates returns the rules that can match a namespace, each once, in the order of the policy. It ignores the other
// dimensions of match and exclude. Callers must not change the list, which may be one of the index.
func (x *ruleIndex) candidates(namespace string) []int {
	found := x.names[namespace]
	for _, n := range x.lengths {
		if n <= len(namespace) {
			found = merged(found, x.prefixes[namespace[:n]])
		}
	}
	return found
}

// merged returns the rules of two lists, each once and in order.
func merged(a, b []int) []int {
	switch {
	case len(b) == 0:
		return a
	case len(a) == 0:
		return b
	}
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}
