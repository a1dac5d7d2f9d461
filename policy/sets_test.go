package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

const setPolicy = `
owners: [{name: owned, mode: enforce, hosts: [a.example], namespaces: []}]
mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}]
pods: [{name: from, mode: warn, match: {set: edge}, images: {from: mirrors}}]
ingresses:
- {name: plain, mode: warn, hosts: {denied: [a.example]}}
- {name: edge-a, mode: audit, match: {set: edge}, hosts: {denied: [a.example]}}
- {name: inner, mode: enforce, match: {set: inner, namespaces: [team-*]}, hosts: {denied: [a.example]}}
- {name: edge-b, mode: enforce, match: {set: edge}, exclude: {users: [admin]}, hosts: {denied: [a.example]}}
services: [{name: later, mode: off, match: {set: later}, types: {denied: [NodePort]}}]
`

// The entries of one rule set evaluate a review, or the entries without a rule set.
func TestSets(t *testing.T) {
	p := mustLoad(t, setPolicy)
	equal(t, []string{"edge", "inner", "later"}, p.Sets())
	for set, test := range map[string]struct {
		a    object.Attributes
		want string
	}{
		"":      {object.Attributes{Operation: object.Create, Namespace: "team-a"}, "plain owned"},
		"edge":  {object.Attributes{Operation: object.Create, Namespace: "team-a"}, "edge-a edge-b"},
		"inner": {object.Attributes{Operation: object.Create, Namespace: "other"}, ""},
		"later": {object.Attributes{Operation: object.Create, Namespace: "team-a"}, ""},
	} {
		in := p
		if set != "" {
			in = p.In(set, "ingresses", "services")
		}
		if in == nil || in.Set() != set || in.Hash() != p.Hash() {
			t.Fatalf("%s is %+v", set, in)
		}
		var got []string
		for _, f := range must(in.EvaluateIngress(test.a, withHosts("a.example"), nil, nil)) {
			got = append(got, f.Rule)
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("in the set %q: found by %s, want %s", set, got, test.want)
		}
	}
	if traces := p.ExplainIngress(creating, withHosts("a.example")); len(traces) != 2 {
		t.Errorf("without a set: %+v", traces)
	}
	for _, unknown := range [][]string{{"edge"}, {"edge", "services", "owners"}, {"later", "ingresses"}, {"none", "ingresses"}, {"", "ingresses"}} {
		if in := p.In(unknown[0], unknown[1:]...); in != nil {
			t.Errorf("%v is %+v", unknown, in)
		}
	}
}

// Counts and unique names apply to the whole policy. The strictest mode is the strictest of the entries that may match.
func TestSetsAsAWhole(t *testing.T) {
	p := mustLoad(t, setPolicy)
	equal(t, Counts{Mirrors: 1, Pods: 1, Ingresses: 4, Owners: 1}, p.Counts())
	if p.Entries() != 8 {
		t.Errorf("%d entries", p.Entries())
	}
	for set, want := range map[string]Mode{"edge": Enforce, "later": Off} {
		if got := p.In(set, "ingresses", "services").Strictest()[Ingresses]; got != want {
			t.Errorf("the strictest mode of %s is %s, want %s", set, got, want)
		}
	}
	if got := mustLoad(t, "ingresses: [{name: a, mode: enforce, match: {set: s}, defaultBackend: deny}]").Strictest()[Ingresses]; got != Off {
		t.Errorf("the strictest mode without a set is %s", got)
	}
	_, err := Load(policyFile("p", "services: [{name: a, mode: warn, types: {denied: [NodePort]}}, "+
		"{name: a, mode: warn, match: {set: s}, types: {denied: [NodePort]}}]"))
	if err == nil || !strings.Contains(err.Error(), "the name \"a\" is taken") {
		t.Errorf("two entries of one name: %v", err)
	}
}

// Rules about images in a rule set use the mirrors of the policy.
func TestMirrorsOfSets(t *testing.T) {
	in := mustLoad(t, setPolicy).In("edge", "pods")
	for image, want := range map[string]int{"m.example/hub/library/nginx": 0, "quay.io/a": 1} {
		if got := must(in.EvaluatePod(createPod, imagePod(image), nil, nil)); len(got) != want {
			t.Errorf("%s: %v", image, got)
		}
	}
}

func TestManySets(t *testing.T) {
	text := "services:\n"
	for i := range maxSets + 1 {
		text += fmt.Sprintf("- {name: r%d, mode: warn, match: {set: s%d}, types: {denied: [NodePort]}}\n", i, i)
		if i == maxSets-1 {
			if got := mustLoad(t, text).Sets(); len(got) != maxSets {
				t.Errorf("%d rule sets, want %d", len(got), maxSets)
			}
		}
	}
	_, err := Load(policyFile("p", text))
	want := "p:104:3: services[100]: match.set: s100 is one rule set too many: a policy has at most 100"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestIsSet(t *testing.T) {
	for name, want := range map[string]bool{
		"edge": true, "a-1": true, "0": true, strings.Repeat("a", 63): true, strings.Repeat("a", 64): false,
		"": false, "-a": false, "a-": false, "A": false, "a.b": false, "a_b": false, "a/b": false, "é": false,
	} {
		if got := IsSet(name); got != want {
			t.Errorf("%q: %t, want %t", name, got, want)
		}
	}
}

func TestSetsOf(t *testing.T) {
	p := mustLoad(t, "services:\n- {name: a, mode: warn, match: {set: edge}, types: {denied: [NodePort]}}\n"+
		"- {name: b, mode: warn, match: {set: inner}, types: {denied: [NodePort]}}\n")
	for _, tt := range []struct{ names, want []string }{
		{nil, nil}, {[]string{"inner", "other"}, []string{"inner"}}, {[]string{"*"}, []string{"edge", "inner"}},
	} {
		if got := p.SetsOf(tt.names); !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v, want %v", tt.names, got, tt.want)
		}
	}
}
