package handlers

import (
	"strings"
	"testing"
)

// The path of a rule set evaluates only the rules in the set. If no rule is in the set, the strictest mode of the kind
// decides.
func TestSets(t *testing.T) {
	const unknown = `the webhook's path contains the rule set `
	f := newFixture(t, `
owners: [{name: owned, mode: enforce, hosts: [owned.example], namespaces: []}]
ingresses:
- {name: plain, mode: enforce, hosts: {denied: [plain.example]}}
- {name: edge, mode: enforce, match: {set: edge}, hosts: {denied: [edge.example]}}
- {name: told, mode: warn, match: {set: told}, hosts: {denied: [told.example]}}
- {name: later, mode: off, match: {set: later}, hosts: {denied: [later.example]}}
`)
	s := startTLS(t, servingOf(f.Config))
	hash := " [policy " + f.Policies.Current().Hash() + "]"
	for _, test := range []struct {
		path, host string
		denial     string // contained in the message
		warnings   int
	}{
		{path: "", host: "plain.example", denial: "plain/hosts.denied"},
		{path: "", host: "owned.example", denial: "owned/owners"},
		{path: "", host: "edge.example"},
		{path: "/set/edge", host: "edge.example", denial: "edge/hosts.denied"},
		{path: "/set/edge", host: "plain.example"},
		{path: "/set/edge", host: "owned.example"},
		{path: "/set/told", host: "told.example", warnings: 1},
		{path: "/set/later", host: "later.example"},
		{path: "/set/none", host: "a.example", denial: unknown + `"none", and no entry of ingresses is in it: ` +
			`correct the path in the webhook configuration, or match.set in the policy` + hash},
		{path: "/set/No%20set", host: "a.example", denial: unknown + `"No`},
	} {
		a := ask(t, s, "/validate/ingresses"+test.path, ingressReview(test.host))
		var got string
		if a.Status != nil {
			got = a.Status.Message
		}
		if a.Allowed != (test.denial == "") || !strings.Contains(got, test.denial) || len(a.Warnings) != test.warnings {
			t.Errorf("%s, %s: %+v %q, want %q", test.path, test.host, a, got, test.denial)
		}
	}
	// Unchanged objects cause at most a warning, so their finalizers can be removed.
	same := ingressOf("a.example")
	a := ask(t, s, "/validate/ingresses/set/none", reviewOf("networking.k8s.io", "ingresses", "UPDATE", same, same))
	if !a.Allowed || len(a.Warnings) != 1 {
		t.Errorf("an unchanged object: %+v", a)
	}
	for _, path := range []string{
		"/mutate/pods/set/edge", "/validate/policy/set/edge", "/validate/ingresses/set/", "/validate/ingresses/set/a/b",
	} {
		if got := send(t, s.Client(), post(t.Context(), t, s.URL+path, "{}")); got.status != 404 {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	// If no rule of the kind is in mode enforce, objects are not denied. Deletions are never evaluated.
	f = newFixture(t, "services: [{name: types, mode: warn, match: {set: told}, types: {denied: [NodePort]}}]")
	s = startTLS(t, servingOf(f.Config))
	svc := func(operation, set string) wireResponse {
		body := reviewOf("", "services", operation, `{"spec":{"type":"NodePort"}}`, "")
		return ask(t, s, "/validate/services/set/"+set, body)
	}
	for _, a := range []wireResponse{svc("CREATE", "edge"), svc("CREATE", "told")} {
		if !a.Allowed || len(a.Warnings) != 1 {
			t.Errorf("%+v", a)
		}
	}
	if a := svc("DELETE", "edge"); !a.Allowed || len(a.Warnings) != 0 {
		t.Errorf("a deletion: %+v", a)
	}
}

// A set name from a peer does not add series or distinct log values, because all sets of a kind share a path there.
func TestSetsAreOnePath(t *testing.T) {
	f := newFixture(t, "ingresses: [{name: a, mode: enforce, match: {set: edge}, hosts: {allowed: []}}]")
	s := startTLS(t, servingOf(f.Config))
	paths := len(f.series(t, "evergate_reviews_total"))
	for _, set := range []string{"edge", "x", "y", strings.Repeat("z", 2000)} {
		ask(t, s, "/validate/ingresses/set/"+set, ingressReview("a.example"))
	}
	const path = "path=/validate/ingresses/set/{set}"
	counted := f.series(t, "evergate_reviews_total")
	if got := counted["operation=CREATE outcome=denied "+path]; got != 1 {
		t.Errorf("%v denials", got)
	}
	if got := counted["operation=CREATE outcome=unevaluated "+path]; got != 3 || len(counted) != paths {
		t.Errorf("%v unevaluated; %d series, and %d before: %v", got, len(counted), paths, counted)
	}
	log := f.log.String()
	if !strings.Contains(log, "/validate/ingresses/set/{set}") || strings.Contains(log, strings.Repeat("z", 600)) {
		t.Errorf("log: %s", log)
	}
}

func ingressReview(host string) string {
	return reviewOf("networking.k8s.io", "ingresses", "CREATE", ingressOf(host), "")
}
