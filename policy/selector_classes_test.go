package policy

import (
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// If an object contains two classes, a match needs one of them and an exclude needs both, because either class may be
// active.
func TestTwoClasses(t *testing.T) {
	for classNames, want := range map[string]string{
		"match: {classNames: [a]}":                            "applies",
		"match: {classNames: [b]}":                            "applies",
		"match: {classNames: [c]}":                            "not matched: match.classNames does not cover \"a\"",
		"exclude: {classNames: [a]}":                          "applies",
		"exclude: {classNames: [a, b]}":                       "excluded: exclude.classNames has b",
		"exclude: {classNames: [\"*\"], namespaces: [other]}": "excluded: exclude.classNames has *",
		"match: {labels: [tier=front-*]}":                     "applies",
		"match: {labels: [tier=back-*]}":                      "not matched by match.labels",
		"exclude: {labels: [tier]}":                           "excluded: exclude.labels has tier",
	} {
		ing := withClass("a", "b")
		ing.Labels = map[string]string{"tier": "front-1"}
		p := mustLoad(t, "\ningresses: [{name: r, mode: enforce, "+classNames+", hosts: {required: true}}]\n")
		if got := Ingresses.Explain(p, creating, ing)[0].Why; got != want {
			t.Errorf("%s: got %s, want %s", classNames, got, want)
		}
	}
}

// A Service without a class does not belong to any class.
func TestLoadBalancerClasses(t *testing.T) {
	p := mustLoad(t, "\nservices: [{name: r, mode: enforce, match: {loadBalancerClasses: [\"*\"]}, types: {denied: [NodePort]}}]\n")
	for class, want := range map[*string]bool{nil: false, new(""): false, new("example.com/x"): true} {
		if got := Services.Explain(p, creating, &object.Service{LoadBalancerClass: class})[0].Applies; got != want {
			t.Errorf("class %v: applies is %t, want %t", class, got, want)
		}
	}
}
