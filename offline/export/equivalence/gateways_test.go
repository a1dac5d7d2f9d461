package equivalence

import (
	"math/rand/v2"
	"testing"

	"github.com/evergate/evergate/offline/export"
)

// gatewayPolicies returns the policies that generated Gateways and ListenerSets are compared with. Together, they
// contain every exported field.
func gatewayPolicies() map[string]string {
	return map[string]string{
		"hosts": `
annotationPrefixes: {externalDNS: [dns.example]}
gateways:
- {name: r, mode: enforce, hosts: {required: true, allowed: ["**.example.com", "{namespace}.corp.example"], max: 2}}
- {name: d, mode: enforce, match: {gatewayClassNames: ["public-*"]}, hosts: {denied: ["*.b.example.com", b.example.com, "**.evil.example"]}}
- {name: w, mode: warn, exclude: {gatewayClassNames: [public-b], users: [bob]}, hosts: {wildcards: deny}}
`,
		"listeners": `
gateways:
- {name: class, mode: enforce, message: "ask #net", classNames: {allowed: [internal, "public-*"]}, ports: {allowed: ["443", "8000-8999"]}}
- {name: protocols, mode: enforce, protocols: {allowed: [HTTPS, "*.example/quic"]}, tls: {modes: [Terminate], crossNamespaceRefs: deny}}
- {name: from, mode: enforce, allowedRoutes: {from: [Same, Selector]}, allowedListeners: {from: [Same]}}
- {name: addresses, mode: enforce, addresses: {allowed: [203.0.113.0/24, "2001:db8::/32"], hostnames: ["*.lb.example.com", x.example]}}
- {name: keys, mode: audit, annotations: {denied: ["evil.example/*"]}, tls: {modes: []}, addresses: {hostnames: []}}
- name: values
  mode: enforce
  annotations:
    required: [{key: example.com/team, value: "[a-z]+"}]
    values: [{key: "evil.example/*", value: "[a-z]*"}]
    deniedValues: [{key: "example.com/*", value: ".*;.*"}]
`,
	}
}

func TestGateways(t *testing.T) {
	compareGenerated(t, gatewayPolicies(), 5, generateGateway, export.VAP)
}

// generateGateway returns a request with a Gateway or a ListenerSet. In half of the cases, it is an update with
// changes.
func generateGateway(r *rand.Rand) request {
	kind := pick(r, "Gateway", "Gateway", "ListenerSet", "XListenerSet")
	return changed(r, func() map[string]any { return gateway(r, kind) })
}

func gateway(r *rand.Rand, kind string) map[string]any {
	spec := map[string]any{}
	for range r.IntN(4) {
		spec["listeners"] = added(spec["listeners"], listener(r))
	}
	version := "gateway.networking.k8s.io/v1"
	switch kind {
	case "Gateway":
		gatewaySpec(r, spec)
	case "XListenerSet":
		version = "gateway.networking.x-k8s.io/v1alpha1"
	}
	return map[string]any{"apiVersion": version, "kind": kind, "metadata": customMeta(r, kind), "spec": spec}
}

func gatewaySpec(r *rand.Rand, spec map[string]any) {
	spec["gatewayClassName"] = pick(r, "internal", "public-a", "public-b", "other")
	for range r.IntN(3) {
		a := map[string]any{}
		maybe(r, a, "type", "IPAddress", "Hostname", "x.example/named")
		switch {
		case r.IntN(5) == 0:
		case a["type"] == "Hostname":
			a["value"] = pick(r, "a.lb.example.com", "A.LB.example.com.", "X.example", "*.lb.example.com", "b.example", "*",
				"a b", ".")
		default:
			a["value"] = address(r)
		}
		spec["addresses"] = added(spec["addresses"], a)
	}
	if r.IntN(2) == 0 {
		spec["allowedListeners"] = map[string]any{"namespaces": from(r)}
	}
	if r.IntN(3) == 0 {
		key, value := hostAnnotation(r, "Service")
		if r.IntN(2) == 0 {
			key, value = pick(r, "Evil.example/a", "example.com/team"), pick(r, "", "abc", "a;b", "Ü", long(r))
		}
		spec["infrastructure"] = map[string]any{"annotations": map[string]any{key: value}}
	}
	if r.IntN(3) == 0 {
		refs := map[string]any{"validation": map[string]any{"caCertificateRefs": []any{certificateRef(r), certificateRef(r)}}}
		tls := map[string]any{"frontend": map[string]any{"default": refs}}
		if r.IntN(2) == 0 {
			tls["frontend"] = map[string]any{"perPort": []any{map[string]any{"port": 443, "tls": refs},
				map[string]any{"port": 1}}}
		}
		if r.IntN(2) == 0 {
			tls["backend"] = map[string]any{"clientCertificateRef": certificateRef(r)}
		}
		spec["tls"] = tls
	}
}

func certificateRef(r *rand.Rand) map[string]any {
	ref := map[string]any{"name": pick(r, "a", "b")}
	maybe(r, ref, "namespace", "team-a", "other", "pay")
	return ref
}

// from returns the namespaces from which objects may attach.
func from(r *rand.Rand) map[string]any {
	n := map[string]any{}
	maybe(r, n, "from", "All", "Selector", "Same", "None", "Selector")
	if r.IntN(2) == 0 {
		selector := map[string]any{}
		if r.IntN(2) == 0 {
			selector["matchLabels"] = map[string]any{"a": "b"}
		}
		for range r.IntN(3) {
			selector["matchExpressions"] = added(selector["matchExpressions"], map[string]any{
				"key": pick(r, "a", "kubernetes.io/metadata.name"), "operator": pick(r, "In", "NotIn", "Exists", "DoesNotExist"),
			})
		}
		n["selector"] = selector
	}
	return n
}

func listener(r *rand.Rand) map[string]any {
	l := map[string]any{
		"name": pick(r, "a", "b", "c"), "port": 442 + r.IntN(3) + 8000*r.IntN(2),
		"protocol": pick(r, "HTTP", "HTTPS", "TLS", "TCP", "x.example/quic"),
	}
	if h := host(r); h != "" && r.IntN(4) > 0 {
		l["hostname"] = h
	}
	if r.IntN(2) == 0 {
		tls := map[string]any{}
		maybe(r, tls, "mode", "Terminate", "Passthrough")
		for range r.IntN(3) {
			tls["certificateRefs"] = added(tls["certificateRefs"], certificateRef(r))
		}
		l["tls"] = tls
	}
	if r.IntN(2) == 0 {
		l["allowedRoutes"] = map[string]any{"kinds": []any{}}
		if r.IntN(4) > 0 {
			l["allowedRoutes"] = map[string]any{"namespaces": from(r)}
		}
	}
	return l
}
