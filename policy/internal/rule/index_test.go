package rule

import (
	"fmt"
	"slices"
	"testing"

	"github.com/evergate/evergate/policy/internal/match"
)

// indexed returns a ruleset with a rule for each match, which is a list of namespaces.
func indexed(matches ...[]match.Glob) *Ruleset[testView] {
	var rules []Rule[testView]
	for _, namespaces := range matches {
		rules = append(rules, New[testView](RuleHeader{Header: Header{Match: &Selector{Namespaces: namespaces}}}, nil))
	}
	return newRuleset(rules)
}

func TestIndexExcludesOtherNamespaces(t *testing.T) {
	const n, matching = 1000, 20
	var matches [][]match.Glob
	for i := range n {
		team := match.Glob(fmt.Sprintf("team-%d", i%(n/matching)))
		matches = append(matches, []match.Glob{team, team + "-*"})
	}
	rules := indexed(matches...)
	got := rules.index.candidates("team-7")
	if len(got) != matching || !slices.IsSorted(got) {
		t.Errorf("got %d candidates, want %d in order: %v", len(got), matching, got)
	}
	if everywhere := rules.index.candidates("elsewhere"); len(everywhere) != 0 {
		t.Errorf("rules that cannot match: %v", everywhere)
	}
}

// A rule that lists a namespace twice is evaluated once, with or without other rules.
func TestIndexHasEachRuleOnce(t *testing.T) {
	for _, matches := range [][][]match.Glob{
		{{"team-a", "team-a"}},
		{{"team-*", "team-*a"}},
		{{"team-a", "team-*"}},
		{{"team-a", "team-*", "x"}, {"team-a"}},
		{{"team-*", "t*"}, nil},
	} {
		want := []int{0, 1}[:len(matches)]
		if got := indexed(matches...).index.candidates("team-a"); !slices.Equal(got, want) {
			t.Errorf("%s: candidates are %v, want %v", matches, got, want)
		}
	}
}
