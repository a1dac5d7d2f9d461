package rule

import (
	"net/netip"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// Looking up identities of every kind, without the checks that have them.
func TestLedger(t *testing.T) {
	value := func(check, value string) Identity { return Identity{Check: check, Value: value} }
	count := func(n int) Identity { return Identity{Check: "hosts.max", Count: n} }
	prefix := func(s string) Identity { return Identity{Check: "c", Prefix: netip.MustParsePrefix(s)} }
	for name, test := range map[string]struct {
		old     []Identity
		id      Identity
		existed bool
	}{
		"nothing before":                 {nil, value("c", "a"), false},
		"the same":                       {[]Identity{value("c", "a")}, value("c", "a"), true},
		"another check":                  {[]Identity{value("b", "a")}, value("c", "a"), false},
		"a count that grows":             {[]Identity{count(3)}, count(4), false},
		"a count that stays":             {[]Identity{count(3)}, count(3), true},
		"a count that shrinks":           {[]Identity{count(3)}, count(2), true},
		"the highest count":              {[]Identity{count(3), count(9), count(1)}, count(8), true},
		"a count is no value":            {[]Identity{value("hosts.max", "")}, count(1), false},
		"a range inside":                 {[]Identity{prefix("10.0.0.0/8")}, prefix("10.2.0.0/16"), true},
		"a range around":                 {[]Identity{prefix("10.2.0.0/16")}, prefix("10.0.0.0/8"), false},
		"a range inside of many":         {[]Identity{prefix("10.0.0.0/8"), prefix("::/0"), prefix("11.0.0.0/8")}, prefix("2001:db8::/32"), true},
		"two halves do not make a whole": {[]Identity{prefix("10.0.0.0/9"), prefix("10.128.0.0/9")}, prefix("10.0.0.0/8"), false},
		"spare bits":                     {[]Identity{prefix("10.1.2.3/8")}, prefix("10.9.9.9/8"), true},
		"a range of another check":       {[]Identity{{Check: "d", Prefix: netip.MustParsePrefix("::/0")}}, prefix("::1/128"), false},
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

func (*testView) Classes() [2]string { return [2]string{} }

func viewTest(pod *object.Pod) testView { return testView{pod} }

// labelled is a check of Pods without images, which reports the label bad.
type labelled struct{}

func (labelled) Find(pod *testView, r *Recorder) {
	if v, ok := pod.Labels["bad"]; ok {
		r.Add(Identity{Check: "labels", Value: v}, "metadata.labels", "is bad")
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
	rules := newRuleset([]Rule[testView]{{
		RuleHeader{Header: Header{Name: "r", Mode: Enforce, Exclude: &Selector{PodLabels: []labelPattern{mustLabel(t, "free")}}}},
		[]Check[testView]{labelled{}},
	}})
	free := &object.Pod{Meta: object.Meta{Labels: map[string]string{"bad": "1", "free": ""}}}
	bound := &object.Pod{Meta: object.Meta{Labels: map[string]string{"bad": "1"}}}
	a := object.Attributes{Operation: object.Update}
	if fs := evaluated(t)(Evaluate(rules, a, viewTest, bound, free, nil)); len(fs) != 1 || fs[0].Existed || !fs[0].Denies() {
		t.Errorf("left the exclusion: %v", fs)
	}
	// A finding of another rule in the old object does not count.
	both := newRuleset([]Rule[testView]{{RuleHeader{Header: Header{Name: "always", Mode: Enforce}}, rules.rules[0].checks}, rules.rules[0]})
	if fs := evaluated(t)(Evaluate(both, a, viewTest, bound, free, nil)); len(fs) != 2 || !fs[0].Existed || fs[1].Existed {
		t.Errorf("left the exclusion of one of two rules: %v", fs)
	}
	if fs := evaluated(t)(Evaluate(rules, a, viewTest, free, bound, nil)); len(fs) != 0 {
		t.Errorf("entered it: %v", fs)
	}
	if fs := evaluated(t)(Evaluate(rules, a, viewTest, bound, bound, nil)); len(fs) != 1 || !fs[0].Existed || fs[0].Denies() {
		t.Errorf("was never in it: %v", fs)
	}
}
