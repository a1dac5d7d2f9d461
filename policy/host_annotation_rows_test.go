package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/object"
)

// The rows of a policy define annotations that contain hosts, for the listed kinds and with a grammar. They may be in
// any document.
func TestHostAnnotationRows(t *testing.T) {
	p := mustLoad(t, `
hostAnnotations:
- {key: DNS.corp.example/name, kinds: [Service], grammar: dns}
- {key: "lb.corp.example/*-cert", kinds: [Ingress, Service], grammar: certificate}
services: [{name: s, mode: enforce, hosts: {allowed: [ok.example]}}]
dnsEndpoints: [{name: d, mode: enforce, hosts: {allowed: [ok.example]}}]
gateways: [{name: g, mode: enforce, hosts: {allowed: [ok.example]}}]
---
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
hostAnnotations:
- {key: lb.corp.example/expression, kinds: [Service, Gateway], grammar: any}
- {key: lb.corp.example/url, kinds: [Service], grammar: url}
- {key: corp/alias, kinds: [DNSEndpoint], grammar: dns}
`)
	const rest = " is not allowed; allowed: ok.example"
	for _, test := range []struct {
		key, value string
		want       []string
	}{
		{"dns.corp.example/Name", "*.a.example, ok.example", []string{`"*.a.example" (names at any depth)` + rest}},
		{"dns.corp.example/name", "_acme-challenge.ok.example", []string{`"_acme-challenge.ok.example" (which controls "**.ok.example")` + rest}},
		{"dns.corp.example/names", "a.example", nil},
		{"lb.corp.example/web-cert", "*.a.example", []string{`"*.a.example"` + rest}},
		{"lb.corp.example/expression", "ok.example", []string{`"ok.example" may cover every host; allowed: ok.example`}},
		{"lb.corp.example/expression", " ", nil},
		{"lb.corp.example/url", "https://ok.example:443/a", nil},
		{"lb.corp.example/url", "ok.example", nil},
		{"lb.corp.example/url", "tcp://a.example:443", []string{`"a.example"` + rest}},
		{"lb.corp.example/url", "a.example/://ok.example", []string{`"a.example"` + rest}},
		{"lb.corp.example/url", "://ok.example", []string{`"://ok.example" may cover every host; allowed: ok.example`}},
		{"lb.corp.example/url", "https://ok.example:x@a.example", []string{`"https://ok.example:x@a.example" may cover every host; allowed: ok.example`}},
		{"lb.corp.example/url", "ok.example:443@a.example/", []string{`"ok.example:443@a.example/" may cover every host; allowed: ok.example`}},
		{"lb.corp.example/url", "https://ok.example/@a", nil},
		{"lb.corp.example/url", "tcp://:443", []string{`"tcp://:443" may cover every host; allowed: ok.example`}},
		{"corp/alias", "a.example", nil},
	} {
		svc := &object.Service{Meta: object.Meta{Annotations: map[string]string{test.key: test.value}}}
		var want []string
		for _, reason := range test.want {
			want = append(want, "s/hosts.allowed: "+annotationPath(test.key)+": "+reason)
		}
		if diff := cmp.Diff(want, sentences(must(p.EvaluateService(creating, svc, nil, nil)))); diff != "" {
			t.Errorf("%s: %s: %s", test.key, test.value, diff)
		}
	}
	endpoint := &object.DNSEndpoint{Endpoints: []object.Endpoint{{DNSName: "ok.example", Properties: []object.EndpointProperty{{Name: "a", Value: "b"}, {Name: "corp/alias", Value: "a.example"}}}}}
	want := []string{`d/hosts.allowed: spec.endpoints[0].providerSpecific[1].value: "a.example"` + rest}
	equal(t, want, sentences(must(p.EvaluateDNSEndpoint(creating, endpoint, nil, nil))))
	gateway := &object.Gateway{
		Meta:                      object.Meta{Annotations: map[string]string{"lb.corp.example/expression": "a"}},
		Listeners:                 []object.Listener{{Hostname: "ok.example"}},
		InfrastructureAnnotations: map[string]string{"dns.corp.example/name": "a.example"},
	}
	want = []string{
		`g/hosts.allowed: metadata.annotations["lb.corp.example/expression"]: "a" may cover every host; allowed: ok.example`,
		`g/hosts.allowed: spec.infrastructure.annotations["dns.corp.example/name"]: "a.example"` + rest,
	}
	equal(t, want, sentences(must(p.EvaluateGateway(creating, gateway, nil, nil))))
}

// A row adds hosts to the known hosts in an annotation, and does not remove any.
func TestHostAnnotationRowsOnlyAdd(t *testing.T) {
	p := mustLoad(t, `
hostAnnotations:
- {key: external-dns.kubernetes.io/hostname, kinds: [Ingress], grammar: certificate}
- {key: alb.ingress.kubernetes.io/conditions.web, kinds: [Ingress], grammar: certificate}
- {key: "alb.ingress.kubernetes.io/*", kinds: [Ingress], grammar: certificate}
- {key: "cert-manager.io/*", kinds: [Ingress], grammar: dns}
- {key: corp.example/host, kinds: [Ingress], grammar: certificate}
- {key: "corp.example/h*", kinds: [Ingress], grammar: any}
- {key: "corp.example/*s", kinds: [Ingress], grammar: certificate}
- {key: "corp.example/*s", kinds: [Ingress], grammar: certificate}
- {key: "corp.example/*es", kinds: [Ingress], grammar: dns}
ingresses: [{name: i, mode: enforce, hosts: {allowed: [ok.example, "*.ok.example"]}}]
`)
	for key, value := range map[string]string{
		"cert-manager.io/alt-names":                "*.ok.example", // not as a DNS record
		"corp.example/host":                        "ok.example",   // any
		"corp.example/hosts":                       "ok.example",   // any
		"corp.example/names":                       "~",
		"corp.example/aliases":                     "*.ok.example", // not as a DNS record
		"external-dns.kubernetes.io/hostname":      "*.ok.example",
		"alb.ingress.kubernetes.io/conditions.web": "ok.example", // no JSON
		"alb.ingress.kubernetes.io/conditions.api": "ok.example",
	} {
		ing := withHosts("ok.example")
		ing.Annotations = map[string]string{key: value}
		if found := must(p.EvaluateIngress(creating, ing, nil, nil)); len(found) != 1 {
			t.Errorf("%s: %v", key, sentences(found))
		}
	}
}

func TestHostAnnotationRowErrors(t *testing.T) {
	row := "{key: a/b, kinds: [Service], grammar: dns}, "
	for text, want := range map[string]string{
		"[{key: '**', kinds: [Service], grammar: dns}]": `p:3:25: hostAnnotations[0].key: "**" matches every annotation: write the keys that contain hosts`,
		"[{key: " + strings.Repeat("a", 318) + ", kinds: [Service], grammar: dns}]": `p:3:25: hostAnnotations[0].key: "` +
			strings.Repeat("a", 60) + `"… has 318 bytes: the key of an annotation has at most 317`,
		"[{key: a/b, kinds: [], grammar: dns}]": "p:3:37: hostAnnotations[0].kinds: [] does not list any kind: leave the row out",
		"[{key: a/b, kinds: [Pod], grammar: dns}]": `p:3:38: hostAnnotations[0].kinds[0]: "Pod" is not a kind whose annotations are read: ` +
			"write Ingress, Service, HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, UDPRoute, Route, Gateway or DNSEndpoint",
		"[{key: a/b, kinds: [Service], grammar: nginx}]": `p:3:57: hostAnnotations[0].grammar: "nginx" is not a grammar: write dns, certificate, url or any`,
		"[{key: a/b, kinds: [Service]}]":                 "p:3:19: hostAnnotations[0]: grammar is required",
		"[" + strings.Repeat(row, 101) + "]":             "p:3:18: hostAnnotations: has 101 rows; at most 100 are read",
	} {
		if _, err := Load(policyFile("p", "hostAnnotations: "+text+"\n")); err == nil || err.Error() != want {
			t.Errorf("%s:\n%v\nwant\n%s", text, err, want)
		}
	}
}

// Native policies read the rows too.
func TestDescribeHostAnnotationRows(t *testing.T) {
	doc, err := Describe(policyFile("p", `
hostAnnotations:
- {key: dns.corp.example/Name, kinds: [Service, Gateway], grammar: dns}
- {key: alb.ingress.kubernetes.io/conditions.web, kinds: [Ingress], grammar: dns}
services: [{name: s, mode: enforce, hosts: {allowed: []}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string][]HostAnnotation{
		"Service": {{Key: "dns.corp.example/name", Grammar: "dns"}},
		"Gateway": {{Key: "dns.corp.example/name", Grammar: "dns"}},
		"Ingress": {{Key: "alb.ingress.kubernetes.io/conditions.web", Grammar: "dns"}},
	} {
		list := doc.HostAnnotations[kind]
		if got := list[max(0, len(list)-len(want)):]; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
}
