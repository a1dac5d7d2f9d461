package rule

import "slices"

// Ruleset contains the rules of one kind, in the order of the policy, with an index by namespace. A platform team
// writes one or more rules for each tenant. The cost of evaluating an object must not depend on the rules for other
// tenants.
type Ruleset[T any] struct {
	rules     []Rule[T]
	index     ruleIndex
	strictest Mode // of the rules; Off without rules

	exceptions *Exceptions // of the policy; nil without exceptions
	// prepare completes the views of an object and of the object before an update, before the rules evaluate them. old is
	// nil if there is no such object. prepare is nil if the views are complete.
	prepare func(r *Recorder, obj, old *T)
	uncut   bool // the last finding of a truncated list does not report the omitted findings
}

// StrictestMode implements rules.
func (s *Ruleset[T]) StrictestMode() Mode { return s.strictest }

// CompileRules compiles entries, except entries that are off, and adds more rules after them. It stops when isDone
// returns true. prepare completes the views of objects, see Ruleset.
func CompileRules[E, T any](
	entries []E, exceptions *Exceptions, isDone func() bool, compile func(*E) Rule[T],
	prepare func(r *Recorder, obj, old *T), more []Rule[T],
) *Ruleset[T] {
	var rules []Rule[T]
	for i := range entries {
		if isDone() {
			break
		}
		if r := compile(&entries[i]); r.Mode != Off {
			rules = append(rules, r)
		}
	}
	s := newRuleset(append(rules, more...))
	s.exceptions, s.prepare = exceptions, prepare
	return s
}

// newRuleset returns a Ruleset of the rules, with their index.
func newRuleset[T any](rules []Rule[T]) *Ruleset[T] {
	s := &Ruleset[T]{rules: rules, index: ruleIndex{names: map[string][]int{}, prefixes: map[string][]int{}}}
	for i := range rules {
		s.index.add(i, rules[i].Match)
		s.strictest = max(s.strictest, rules[i].Mode)
	}
	return s
}

// Only returns the rules with only the checks for which keep returns true, without rules that have no such check. It
// returns nil if no rule has such a check. The caller combines their findings with others, so the last finding does not
// report omitted findings.
func (s *Ruleset[T]) Only(keep func(Check[T]) bool) *Ruleset[T] {
	var rules []Rule[T]
	for i := range s.rules {
		var checks []Check[T]
		for _, c := range s.rules[i].checks {
			if keep(c) {
				checks = append(checks, c)
			}
		}
		if len(checks) > 0 {
			rules = append(rules, Rule[T]{s.rules[i].RuleHeader, checks})
		}
	}
	if len(rules) == 0 {
		return nil
	}
	kept := newRuleset(rules)
	kept.exceptions, kept.prepare, kept.uncut = s.exceptions, s.prepare, true
	return kept
}

// ruleIndex finds the rules that can match a namespace. It may also return rules that do not match the namespace, but
// have a prefix in common with it. Its lists contain indexes of rules, in the order of the policy.
type ruleIndex struct {
	names    map[string][]int // by namespace, for match.namespaces without *
	prefixes map[string][]int // by the head of a pattern with *; rules for every namespace have the head ""
	lengths  []int            // lengths of the prefixes, each once
}

// add adds rule i. Rules must be added in order. A match without namespaces matches all namespaces. A match with an
// empty list of namespaces does not match any.
func (x *ruleIndex) add(i int, match *Selector) {
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
// dimensions of match and exclude. Callers must not change the list, because it may belong to the index.
func (x *ruleIndex) candidates(namespace string) []int {
	found := x.names[namespace]
	for _, n := range x.lengths {
		if n > len(namespace) {
			continue
		}
		switch more := x.prefixes[namespace[:n]]; {
		case len(found) == 0:
			found = more
		case len(more) > 0:
			found = slices.Concat(found, more)
			slices.Sort(found)
			found = slices.Compact(found)
		}
	}
	return found
}
