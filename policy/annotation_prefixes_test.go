package policy

import (
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// A policy can add prefixes of annotations that contain hosts, in any of its documents.
func TestAnnotationPrefixes(t *testing.T) {
	const rules = `
annotationPrefixes: {externalDNS: [dns.corp.example], haproxyIngress: [ingress.corp.example]}
ingresses: [{name: r, mode: enforce, hosts: {allowed: []}}]
services: [{name: s, mode: enforce, hosts: {allowed: []}}]
---
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
annotationPrefixes: {externalDNS: [dns.corp.example, Internal.corp.example], ingressNginx: [ingress.corp.example]}
`
	p := mustLoad(t, rules)
	const rest = " is not allowed; the policy allows none"
	for key, test := range map[string]struct{ ingress, service []string }{
		"external-dns.kubernetes.io/hostname":       {[]string{`"*.a.example" (names at any depth)` + rest}, []string{`"*.a.example" (names at any depth)` + rest}},
		"external-dns.alpha.kubernetes.io/hostname": {[]string{`"*.a.example" (names at any depth)` + rest}, []string{`"*.a.example" (names at any depth)` + rest}},
		"dns.corp.example/hostname":                 {[]string{`"*.a.example" (names at any depth)` + rest}, []string{`"*.a.example" (names at any depth)` + rest}},
		"internal.corp.example/Hostname":            {[]string{`"*.a.example" (names at any depth)` + rest}, []string{`"*.a.example" (names at any depth)` + rest}},
		"internal.corp.example/internal-hostname":   {nil, []string{`"*.a.example" (names at any depth)` + rest}},
		"dns.corp.example.evil/hostname":            {},
		"corp.example/hostname":                     {},
		// If two controllers have a prefix, the annotation claims the hosts that either controller reads in it.
		"ingress.corp.example/server-alias":  {[]string{`"*.a.example" (names at any depth)` + rest, `"*.a.example"` + rest}, []string{`"*.a.example"` + rest}},
		"ingress.corp.example/redirect-from": {[]string{`"*.a.example"` + rest}, []string{`"*.a.example"` + rest}},
	} {
		t.Run(key, func(t *testing.T) {
			meta := object.Meta{Annotations: map[string]string{key: "*.a.example"}}
			at := annotationPath(key) + ": "
			want := func(rule string, reasons []string) []string {
				var s []string
				for _, reason := range reasons {
					s = append(s, rule+"/hosts.allowed: "+at+reason)
				}
				return s
			}
			ing := must(p.EvaluateIngress(creating, &object.Ingress{Meta: meta, Rules: []object.IngressRule{{Host: "b.example"}}}, nil, nil))
			ofRule := `r/hosts.allowed: spec.rules[0].host: "b.example"` + rest
			equal(t, append([]string{ofRule}, want("r", test.ingress)...), sentences(ing))
			svc := must(p.EvaluateService(creating, &object.Service{Meta: meta}, nil, nil))
			equal(t, want("s", test.service), sentences(svc))
		})
	}
}

// The prefixes of a policy also apply to old objects and to review --explain.
func TestAnnotationPrefixesOfOldObjects(t *testing.T) {
	p := mustLoad(t, "annotationPrefixes: {externalDNS: [dns.corp.example]}\nservices: [{name: s, mode: enforce, hosts: {allowed: []}}]\n")
	svc := func(host string) *object.Service {
		return &object.Service{Meta: object.Meta{Annotations: map[string]string{"dns.corp.example/hostname": host}}}
	}
	for old, denied := range map[string]bool{"a.example": false, "b.example": true} {
		found := must(p.EvaluateService(updating, svc("a.example"), svc(old), nil))
		if len(found) != 1 || found[0].Denies() != denied {
			t.Errorf("before it was %s: %v, want denied %t", old, found, denied)
		}
	}
	if traces := p.ExplainService(creating, svc("a.example")); traces[0].Findings != 1 {
		t.Errorf("explained: %+v", traces)
	}
}
