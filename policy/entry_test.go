package policy

import (
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// Only rules in mode enforce deny, and rules in mode off are not evaluated.
func TestModes(t *testing.T) {
	for mode, want := range map[string]string{
		"off":     "",
		"audit":   "r/types.allowed audit",
		"warn":    "r/types.allowed warn",
		"enforce": "r/types.allowed enforce denies",
	} {
		p := mustLoad(t, "services:\n- {name: r, mode: "+mode+", types: {allowed: []}}\n")
		var got string
		for _, f := range must(p.EvaluateService(object.Attributes{Operation: object.Create}, &object.Service{}, nil, nil)) {
			got += f.ID() + " " + f.Mode.String()
			if f.Denies() {
				got += " denies"
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", mode, got, want)
		}
		if counts := p.Counts(); (counts.Services == 1) != (mode != "off") {
			t.Errorf("%s: %+v", mode, counts)
		}
	}
}

func TestFindingString(t *testing.T) {
	f := Finding{Rule: "team-hosts", Check: "hosts.allowed", Path: "spec.rules[0].host", Reason: "no", Note: "ask us"}
	if got, want := f.String(), "team-hosts/hosts.allowed: spec.rules[0].host: no (ask us)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	f.Path, f.Note = "", ""
	if got, want := f.String(), "team-hosts/hosts.allowed: no"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Every rule is explained, in the order of the policy, whether it applies to the object or not.
func TestExplainService(t *testing.T) {
	p := mustLoad(t, `
services:
- {name: other, mode: enforce, match: {namespaces: [team-b]}, types: {denied: [NodePort]}}
- {name: gone, mode: "off", types: {denied: [NodePort]}}
- {name: two, mode: warn, types: {denied: [NodePort]}, nodePorts: {allowed: []}}
- {name: free, mode: enforce, exclude: {users: ["system:*"]}, types: {denied: [NodePort]}}
- {name: fine, mode: audit, match: {namespaces: ["team-*"]}, types: {denied: [LoadBalancer]}}
`)
	a := object.Attributes{Operation: object.Create, Namespace: "team-a", User: "system:admin"}
	want := []RuleTrace{
		{Rule: "other", Mode: Enforce, Why: `not matched: match.namespaces does not cover "team-a"`},
		{Rule: "two", Mode: Warn, Applies: true, Why: "applies", Findings: 2},
		{Rule: "free", Mode: Enforce, Why: "excluded: exclude.users has system:*"},
		{Rule: "fine", Mode: Audit, Applies: true, Why: "applies"},
	}
	got := p.ExplainService(a, &object.Service{Type: "NodePort", Ports: []object.ServicePort{{NodePort: 30000}}})
	equal(t, want, got)
}
