package policy

import (
	"fmt"
	"slices"
	"testing"
)

func TestEntryPlaces(t *testing.T) {
	p := mustLoad(t, `exceptions:
- {name: for-now, rules: [hosts], match: {namespaces: [shop]}, until: 2027-01-31, reason: T-1}
ingresses:
- {name: hosts, mode: enforce, hosts: {required: true}}
- {name: never, mode: "off", hosts: {required: true}}
- {name: edge, mode: warn, match: {set: edge}, hosts: {required: true}}
`)
	var got []string
	for _, e := range p.EntryPlaces() {
		got = append(got, fmt.Sprintf("%s %s %s:%d:%d", e.Block, e.Name, e.Place.File, e.Place.Line, e.Place.Column))
	}
	slices.Sort(got)
	want := []string{
		"exceptions for-now policy.yaml:4:3", "ingresses edge policy.yaml:8:3", "ingresses hosts policy.yaml:6:3",
	}
	equal(t, want, got)
}

// A test suite may be next to a policy, and is not part of it. A policy is read whatever its file is called.
func TestSuitesAreNoPart(t *testing.T) {
	const services = "services: [{name: a, mode: warn, types: {denied: [NodePort]}}]\n"
	alone := mustLoad(t, services)
	suite := File{Name: "policy_test.yaml", Data: []byte("policy: [policy.yaml]\ncases:\n- {name: a}\n")}
	p, err := Load(policyFile("policy.yaml", services), suite)
	if err != nil || p.Hash() != alone.Hash() {
		t.Errorf("with a suite: %v", err)
	}
	const want = "policy_test.yaml:1:1: this is a suite of tests, not a policy: evergate test runs it"
	if _, err := Load(suite); err == nil || err.Error() != want {
		t.Errorf("a suite alone: %v", err)
	}
	if p, err := Load(policyFile("smoke_test.yaml", services)); err != nil || p.Counts().Services != 1 {
		t.Errorf("a policy with the name of a suite: %v", err)
	}
	if _, err := Load(File{Name: "other.yaml", Data: suite.Data}); err == nil {
		t.Error("a suite with the name of a policy loads")
	}
}
