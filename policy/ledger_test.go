package policy

import (
	"net/netip"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// Looking up identities of every kind, without the checks that have them.
func TestLedger(t *testing.T) {
	value := func(check, value string) identity { return identity{check: check, value: value} }
	count := func(n int) identity { return identity{check: "hosts.max", count: n} }
	prefix := func(s string) identity { return identity{check: "c", prefix: netip.MustParsePrefix(s)} }
	for name, test := range map[string]struct {
		old     []identity
		id      identity
		existed bool
	}{
		"nothing before":                 {nil, value("c", "a"), false},
		"the same":                       {[]identity{value("c", "a")}, value("c", "a"), true},
		"another check":                  {[]identity{value("b", "a")}, value("c", "a"), false},
		"a count that grows":             {[]identity{count(3)}, count(4), false},
		"a count that stays":             {[]identity{count(3)}, count(3), true},
		"a count that shrinks":           {[]identity{count(3)}, count(2), true},
		"the highest count":              {[]identity{count(3), count(9), count(1)}, count(8), true},
		"a count is no value":            {[]identity{value("hosts.max", "")}, count(1), false},
		"a range inside":                 {[]identity{prefix("10.0.0.0/8")}, prefix("10.2.0.0/16"), true},
		"a range around":                 {[]identity{prefix("10.2.0.0/16")}, prefix("10.0.0.0/8"), false},
		"a range inside of many":         {[]identity{prefix("10.0.0.0/8"), prefix("::/0"), prefix("11.0.0.0/8")}, prefix("2001:db8::/32"), true},
		"two halves do not make a whole": {[]identity{prefix("10.0.0.0/9"), prefix("10.128.0.0/9")}, prefix("10.0.0.0/8"), false},
		"spare bits":                     {[]identity{prefix("10.1.2.3/8")}, prefix("10.9.9.9/8"), true},
		"a range of another check":       {[]identity{{check: "d", prefix: netip.MustParsePrefix("::/0")}}, prefix("::1/128"), false},
	} {
		t.Run(name, func(t *testing.T) {
			var before ledger
			for _, id := range test.old {
				before.add(id)
			}
			if got := before.find(test.id, new(Effort)); got != test.existed {
				t.Errorf("existed: got %v, want %v", got, test.existed)
			}
			before.clear()
			if before.find(test.id, new(Effort)) {
				t.Error("existed in a ledger that was cleared")
			}
		})
	}
}

// testView is a view of a Pod.
type testView struct{ *object.Pod }

func (*testView) classes() [2]string { return [2]string{} }

func viewTest(pod *object.Pod) testView { return testView{pod} }

// labelled is a check of Pods without images, which reports the label bad.
type labelled struct{}

func (labelled) find(pod *testView, r *recorder) {
	if v, ok := pod.Labels["bad"]; ok {
		r.add(identity{check: "labels", value: v}, "metadata.labels", "is bad")
	}
}

// evaluated returns a function that returns findings, if there is no error.
func evaluated(t *testing.T) func([]Finding, error) []Finding {
	return func(findings []Finding, err error) []Finding {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return findings
	}
}

// If the labels of a Pod no longer exclude it, its findings are introduced.
func TestRatchetLeavingAnExclusion(t *testing.T) {
	rules := newRuleset([]rule[testView]{{
		ruleHeader{header: header{Name: "r", Mode: Enforce, Exclude: &selector{PodLabels: []labelPattern{mustLabel(t, "free")}}}},
		[]check[testView]{labelled{}},
	}})
	free := &object.Pod{Meta: object.Meta{Labels: map[string]string{"bad": "1", "free": ""}}}
	bound := &object.Pod{Meta: object.Meta{Labels: map[string]string{"bad": "1"}}}
	a := object.Attributes{Operation: object.Update}
	if fs := evaluated(t)(evaluate(rules, a, viewTest, bound, free, nil)); len(fs) != 1 || fs[0].Existed || !fs[0].Denies() {
		t.Errorf("left the exclusion: %v", fs)
	}
	// A finding of another rule in the old object does not count.
	both := newRuleset([]rule[testView]{{ruleHeader{header: header{Name: "always", Mode: Enforce}}, rules.rules[0].checks}, rules.rules[0]})
	if fs := evaluated(t)(evaluate(both, a, viewTest, bound, free, nil)); len(fs) != 2 || !fs[0].Existed || fs[1].Existed {
		t.Errorf("left the exclusion of one of two rules: %v", fs)
	}
	if fs := evaluated(t)(evaluate(rules, a, viewTest, free, bound, nil)); len(fs) != 0 {
		t.Errorf("entered it: %v", fs)
	}
	if fs := evaluated(t)(evaluate(rules, a, viewTest, bound, bound, nil)); len(fs) != 1 || !fs[0].Existed || fs[0].Denies() {
		t.Errorf("was never in it: %v", fs)
	}
}
