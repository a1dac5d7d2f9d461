package policy

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// Looking up hosts one after the other has the same results as looking up each host in the set.
func TestHostLookup(t *testing.T) {
	patterns := []string{"**", "a", "b.a", "*.a", "**.a", "*.b.a", "**.b.a", "c.b.a", "*.example", "x.example"}
	hosts := []string{"", "*", "a", "b.a", "c.a", "*.a", "c.b.a", "d.b.a", "d.b.a", "*.b.a", "e.d.b.a", "x.example", "y.example", "*.example", "z"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		set, chosen := match.NewHostSet(nil), []string{}
		for range random.IntN(4) {
			chosen = append(chosen, patterns[random.IntN(len(patterns))])
			set.Add(match.ParseHost(chosen[len(chosen)-1]))
		}
		ing := &object.Ingress{}
		for range 8 {
			ing.Rules = append(ing.Rules, object.IngressRule{Host: hosts[random.IntN(len(hosts))]})
		}
		var lookup hostLookup
		for i, host := range claimsOfRules(ing, false, new(rule.Recorder)) {
			if _, want := set.Covers(host.HostPattern); lookup.find(set, &host) != want {
				t.Fatalf("set %v, hosts %v: host %d is covered: %t", chosen, ing.Rules, i, want)
			}
		}
	}
}

// For Ingresses and Services, {namespace} is the namespace of the request. Sentences show the pattern for that
// namespace.
func TestHostsOfNamespace(t *testing.T) {
	const block = "hosts: {allowed: ['{namespace}.x.example', '*.{namespace}.Apps.example']}"
	ingresses, services := mustLoadIngressRule(t, block), mustLoad(t, "services:\n- {name: r, mode: enforce, "+block+"}\n")
	for host, passing := range map[string]string{
		"team-a.x.example":        "team-a",
		"www.team-b.apps.example": "team-b",
		"*.team-c.apps.example":   "team-c",
		"x.example":               "none",
		"*.x.example":             "none",
	} {
		for _, namespace := range []string{"team-a", "team-b", "team-c", "", "*", "team-a.x"} {
			a := object.Attributes{Operation: object.Create, Namespace: namespace}
			ing := withHosts(host)
			svc := &object.Service{Meta: object.Meta{Annotations: map[string]string{"load-balancer.hetzner.cloud/http-managed-certificate-domains": host}}}
			sentence := " is not allowed; allowed: {namespace}.x.example, *.{namespace}.apps.example"
			if namespace != "" {
				sentence = strings.ReplaceAll(sentence, "{namespace}", namespace)
			}
			var want, wantOfService []string
			if namespace != passing {
				want = []string{`r/hosts.allowed: spec.rules[0].host: "` + host + `"` + sentence}
				wantOfService = []string{`r/hosts.allowed: metadata.annotations["load-balancer.hetzner.cloud/http-managed-certificate-domains"]: "` + host + `"` + sentence}
			}
			if diff := cmp.Diff(want, sentences(must(ingresses.EvaluateIngress(a, ing, nil, nil)))); diff != "" {
				t.Errorf("Ingress with %s in %q: %s", host, namespace, diff)
			}
			if diff := cmp.Diff(wantOfService, sentences(must(services.EvaluateService(a, svc, nil, nil)))); diff != "" {
				t.Errorf("Service with %s in %q: %s", host, namespace, diff)
			}
		}
	}
}
