package equivalence

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evergate/evergate/offline/export"
)

// servicePolicies returns the policies that generated Services are compared with. Together, they contain every exported
// field.
func servicePolicies() map[string]string {
	return map[string]string{
		"exposure": `
services:
- {name: types, mode: enforce, message: "ask #net", types: {allowed: [ClusterIP, LoadBalancer]}, ports: {allowed: ["80", "8000-8999"]}}
- {name: node-ports, mode: enforce, nodePorts: {allowed: ["30000-30009", "31000"]}, allocateLoadBalancerNodePorts: deny}
- {name: addresses, mode: enforce, externalIPs: {allowed: [203.0.113.0/25, 203.0.113.128/25, 198.51.100.7, "2001:db8::/32"]}}
- {name: clients, mode: enforce, loadBalancerSourceRanges: {required: true}}
- {name: classes, mode: enforce, loadBalancerClass: {required: true, allowed: [a.example/x, a.example/y]}}
`,
		"hosts": `
annotationPrefixes: {externalDNS: [dns.example]}
hostAnnotations: [{key: "hosts.example/*", kinds: [Ingress, Service], grammar: certificate}, {key: hosts.example/any, kinds: [Service, Ingress], grammar: any}, {key: hosts.example/a, kinds: [Ingress, Service], grammar: dns}, {key: "hosts.example/*b", kinds: [Ingress, Service], grammar: dns}, {key: "*/*-names", kinds: [Ingress, Service], grammar: dns}, {key: "*.kubernetes.io/h*", kinds: [Ingress, Service], grammar: dns}]
services:
- {name: allowed, mode: enforce, hosts: {allowed: ["**.example.com", "**.{namespace}.corp.example"], denied: ["*.b.example.com", c.example], max: 2}}
- {name: wild, mode: warn, hosts: {wildcards: deny, denied: ["**"]}}
`,
		"annotations": `
services:
- name: keys
  mode: enforce
  match: {namespaces: [team-*], labels: [app]}
  exclude: {users: [bob], groups: [break-*], labels: [free=y*], loadBalancerClasses: [a.example/*]}
  annotations:
    denied: ["evil.example/*", x.example/y]
    required: [{key: example.com/team, value: "[a-z]+"}, {key: example.com/owner}]
    values: [{key: "example.com/*", value: "[a-z0-9]*"}, {key: example.com/team, value: "a.*"}]
    deniedValues: [{key: "*", value: ".*;.*"}]
    requiredForLoadBalancer: [{key: lb.example/scheme, value: internal}]
- {name: no-node-port, mode: warn, types: {denied: [NodePort]}, nodePorts: {allowed: []}}
- {name: nothing, mode: audit, match: {loadBalancerClasses: [a.example/*]}, loadBalancerClass: {allowed: []}, externalIPs: {allowed: []}}
`,
	}
}

func TestServices(t *testing.T) {
	compareGenerated(t, servicePolicies(), 2, generateService, export.VAP)
}

// generateService returns a request with a Service. In half of the cases, it is an update with changes.
func generateService(r *rand.Rand) request {
	req := request{object: service(r), namespace: pick(r, "team-a", "other"), user: pick(r, "jane", "bob", "jane")}
	if r.IntN(3) == 0 {
		req.groups = []string{pick(r, "devs", "break-glass")}
	}
	if r.IntN(2) == 0 {
		return req
	}
	req.old = service(r)
	for _, field := range []string{"spec", "metadata"} {
		if r.IntN(4) > 0 { // most fields of an object do not change
			was, now := req.old[field].(map[string]any), req.object[field].(map[string]any)
			for key, value := range inOrder(now) {
				if r.IntN(4) > 0 {
					was[key] = value
				}
			}
		}
	}
	return req
}

func service(r *rand.Rand) map[string]any {
	spec := map[string]any{}
	if r.IntN(5) > 0 {
		spec["type"] = pick(r, "ClusterIP", "NodePort", "LoadBalancer", "LoadBalancer", "ExternalName")
	}
	var ports []any
	for range r.IntN(3) {
		port := map[string]any{"port": 80 + r.IntN(2)*(7920+r.IntN(1100))}
		if r.IntN(2) == 0 {
			port["nodePort"] = 30000 + r.IntN(12) + 1000*r.IntN(2)
		}
		ports = append(ports, port)
	}
	spec["ports"] = ports
	if r.IntN(4) == 0 {
		spec["healthCheckNodePort"] = 30005 + r.IntN(10)
	}
	if r.IntN(2) == 0 {
		spec["allocateLoadBalancerNodePorts"] = r.IntN(2) == 0
	}
	if r.IntN(2) == 0 {
		spec["loadBalancerClass"] = pick(r, "a.example/x", "a.example/z", "b.example/x")
	}
	if r.IntN(2) == 0 {
		spec["externalIPs"] = []any{address(r), address(r)}[:1+r.IntN(2)]
	}
	if r.IntN(2) == 0 {
		spec["loadBalancerSourceRanges"] = []any{"10.0.0.0/8"}
	}
	meta := map[string]any{"name": "p"}
	if r.IntN(2) == 0 {
		meta["labels"] = map[string]any{"app": "x", pick(r, "free", "x"): pick(r, "yes", "no")}
	}
	if r.IntN(3) > 0 {
		meta["annotations"] = serviceAnnotations(r)
	}
	return map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}
}

func serviceAnnotations(r *rand.Rand) map[string]any {
	all := map[string]any{}
	for range r.IntN(5) {
		key := pick(r, "evil.example/a", "evil.example/b", "x.example/y", "example.com/team", "example.com/owner",
			"example.com/x", "lb.example/scheme")
		all[key] = pick(r, "", "abc", "team1", "a;b", "internal", "Ünï", "a\nb", strings.Repeat("x", 70), long(r))
	}
	if r.IntN(4) == 0 {
		all["service.beta.kubernetes.io/load-balancer-source-ranges"] = pick(r, "", " ", "10.0.0.0/8")
	}
	for r.IntN(2) == 0 {
		key, value := hostAnnotation(r, "Service")
		all[key] = value
	}
	return all
}

func address(r *rand.Rand) string {
	return pick(r, fmt.Sprintf("203.0.113.%d", r.IntN(256)), "198.51.100.7", "198.51.100.8", "2001:db8::1",
		"2001:DB8:0::1", "2001:db9::1", "::ffff:203.0.113.7",
		"::ffff:8.8.8.8", "::ffff:cb00:7107", "0:0:0:0:0:ffff:0808:0808", "::ffff:ffff:ffff", "010.0.0.1", "10.0.0",
		"fe80::1%eth0", "", "a\"b", "1.2.3.4.5", "::1")
}
