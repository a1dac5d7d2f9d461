package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/object"
)

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
			if diff := cmp.Diff(want, sentences(must(Ingresses.Evaluate(ingresses, a, ing, nil, nil)))); diff != "" {
				t.Errorf("Ingress with %s in %q: %s", host, namespace, diff)
			}
			if diff := cmp.Diff(wantOfService, sentences(must(Services.Evaluate(services, a, svc, nil, nil)))); diff != "" {
				t.Errorf("Service with %s in %q: %s", host, namespace, diff)
			}
		}
	}
}
