package policy

import (
	"slices"
	"strings"
)

// ruleset is the rules of one kind, in the order of the policy, with an index by namespace. A platform team writes a
// rule or more for each of its tenants: an object shall not pay for those of the others.
type ruleset[T any] struct {
	rules     []rule[T]
	index     ruleIndex
	strictest Mode // of the rules; Off when there are none
}

func newRuleset[T any](rules []rule[T]) ruleset[T] {
	s := ruleset[T]{rules: rules, index: ruleIndex{names: map[string][]int{}, prefixes: map[string][]int{}}}
	for i := range rules {
		s.index.add(i, rules[i].Match)
		s.strictest = max(s.strictest, rules[i].Mode)
	}
	return s
}

// ruleIndex finds the rules that can match a namespace: all that do, and few others. It holds positions in the
// policy, each list in their order.
type ruleIndex struct {
	names    map[string][]int // by a namespace that match names
	prefixes map[string][]int // by what stands before the first * of a glob; rules for every namespace under ""
	lengths  []int            // of the prefixes, each once
}

// add files rule i, which comes after those that have been filed. A match without namespaces covers all of them; one with an
// empty list covers none.
func (x *ruleIndex) add(i int, match *selector) {
	if match == nil || match.Namespaces == nil {
		x.addPrefix("", i)
		return
	}
	for _, g := range match.Namespaces {
		if prefix, _, wild := strings.Cut(string(g), "*"); wild {
			x.addPrefix(prefix, i)
		} else {
			addOnce(x.names, prefix, i)
		}
	}
}

func (x *ruleIndex) addPrefix(prefix string, i int) {
	if !slices.Contains(x.lengths, len(prefix)) {
		x.lengths = append(x.lengths, len(prefix))
	}
	addOnce(x.prefixes, prefix, i)
}

func addOnce(lists map[string][]int, key string, i int) {
	if list := lists[key]; len(list) == 0 || list[len(list)-1] != i {
		lists[key] = append(list, i)
	}
}

// candidates returns the rules that can match a namespace, each once, in the order of the policy. What else their
// match and exclude ask is not known here. Nobody may change the list, which may be one of the index.
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
