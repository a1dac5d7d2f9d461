package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/object"
)

// The index returns every rule that applies, each once, in the order of the policy.
func TestIndexFindsEveryRule(t *testing.T) {
	var text strings.Builder
	text.WriteString("services:\n")
	for i, match := range []string{
		"", `match: {namespaces: ["*"]}`, "match: {namespaces: [team-a]}", `match: {namespaces: ["team-*"]}`,
		`match: {namespaces: ["*-a", team-a, "team-*"]}`, `match: {namespaces: ["t*-b"]}`, "match: {users: [jane]}", "match: {namespaces: [x, team-b]}",
		"exclude: {namespaces: [team-a]}", `match: {namespaces: ["team-a*"]}`, `match: {namespaces: ["team-abc*"]}`, `match: {namespaces: [team-a, team-a]}`,
	} {
		fmt.Fprintf(&text, "- {name: r%d, mode: audit, types: {allowed: []}, %s}\n", i, match)
	}
	p := mustLoad(t, strings.ReplaceAll(text.String(), ", }", "}"))
	for _, namespace := range []string{"", "t", "team", "team-", "team-a", "team-b", "team-ab", "team-abc", "x", "x-a", "tx-b"} {
		a := object.Attributes{Operation: object.Create, Namespace: namespace, User: "jane"}
		var want, got []string
		for _, trace := range Services.Explain(p, a, &object.Service{}) {
			if trace.Applies {
				want = append(want, trace.Rule)
			}
		}
		for _, f := range must(Services.Evaluate(p, a, &object.Service{}, nil, nil)) {
			got = append(got, f.Rule)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("namespace %q: %s", namespace, diff)
		}
	}
}

// matching is the number of rules for each namespace in tenants.
const matching = 20

// tenants is a policy of n rules. Up to matching rules are for team-0, the same number for team-1, and so on.
func tenants(n int) string {
	var b strings.Builder
	b.WriteString("services:\n")
	for i := range n {
		fmt.Fprintf(&b, `
- name: rule-%d
  mode: enforce
  match: {namespaces: [team-%d, "team-%d-*"]}
  types: {allowed: [ClusterIP, ExternalName, LoadBalancer]}
  externalIPs: {allowed: [203.0.113.0/24]}
  loadBalancerSourceRanges: {allowed: [10.0.0.0/8]}
  ports: {allowed: ["80", "443", "8000-8999"]}
`, i, i%max(1, n/matching), i%max(1, n/matching))
	}
	return b.String()
}

// The cost must not grow with the rules of other tenants. In the last two cases, 20 rules match.
func BenchmarkEvaluateService(b *testing.B) {
	svc := &object.Service{
		Type:                     "LoadBalancer",
		Ports:                    []object.ServicePort{{Port: 443}, {Port: 8080}},
		ExternalIPs:              []string{"203.0.113.7"},
		LoadBalancerSourceRanges: []string{"10.1.0.0/16"},
	}
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			p := mustLoad(b, tenants(n))
			a := object.Attributes{Operation: object.Create, Namespace: "team-0", User: "jane", Groups: []string{"system:authenticated"}}
			b.ReportAllocs()
			for b.Loop() {
				if fs := must(Services.Evaluate(p, a, svc, nil, nil)); len(fs) > 0 {
					b.Fatal(fs)
				}
			}
		})
	}
}
