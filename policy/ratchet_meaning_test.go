package policy

import (
	"slices"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// A finding that an object had before does not exempt a finding that covers more.
func TestRatchetOfMeaning(t *testing.T) {
	route := func(rule object.RouteRule) *object.Route { return &object.Route{Rules: []object.RouteRule{rule}} }
	backend := func(port int32) *object.Route {
		return route(object.RouteRule{Backends: []object.RouteBackend{{Reference: service("other", "a"), Port: port}}})
	}
	mirror := func(port int32) *object.Route {
		return route(object.RouteRule{Filters: []object.RouteFilter{{Type: "RequestMirror", Mirror: new(service("other", "a")), MirrorPort: port}}})
	}
	auth := func(port int32) *object.Route {
		return route(object.RouteRule{Filters: []object.RouteFilter{{Type: "ExternalAuth", Auth: new(service("other", "a")), AuthPort: port}}})
	}
	rewrite := func(contents ...string) *object.Route {
		var filters []object.RouteFilter
		for _, c := range contents {
			filters = append(filters, object.RouteFilter{Type: "URLRewrite", Content: c})
		}
		return route(object.RouteRule{Filters: filters})
	}
	match := func(of string) *object.Route {
		return route(object.RouteRule{Matches: []object.RouteMatch{{Path: object.RoutePath{Type: of, Value: "/admin"}}}})
	}
	path := func(of string) *object.Ingress {
		return &object.Ingress{Rules: []object.IngressRule{{Host: "a.example", Paths: []object.IngressPath{{Path: "/admin;", Type: of}}}}}
	}
	status := func(mode, ports string) *object.Service {
		return &object.Service{LoadBalancerIngress: []object.LoadBalancerIngress{{IP: "192.0.2.1", Hostname: "a.example", IPMode: mode, Ports: ports}}}
	}
	claims := func(rule, tls string) *object.Ingress { return withTLS(withHosts(rule), tls) }
	record := func(of, name string) *object.DNSEndpoint {
		return &object.DNSEndpoint{Endpoints: []object.Endpoint{{DNSName: name, RecordType: of}}}
	}
	named := func(rule, certificate string) *object.Ingress {
		ing := withHosts(rule)
		ing.Annotations = map[string]string{"cert-manager.io/alt-names": certificate}
		return ing
	}
	with := func(rule, key, value string) *object.Ingress {
		ing := withHosts(rule)
		ing.Annotations = map[string]string{key: value}
		return ing
	}
	const alias = "nginx.ingress.kubernetes.io/server-alias"
	ports := func(p object.ServicePort) *object.Service {
		return &object.Service{Type: "NodePort", Ports: []object.ServicePort{p}}
	}
	listener := func(l object.Listener) *object.Gateway { return &object.Gateway{Listeners: []object.Listener{l}} }
	openShift := func(host string) *object.OpenShiftRoute { return &object.OpenShiftRoute{Host: host, Path: "/admin"} }
	for name, test := range map[string]struct {
		rule     string
		old, obj any
		denied   bool
	}{
		"a host of a certificate, now in a rule":               {"ingresses: [{name: i, mode: enforce, hosts: {allowed: [ok.example]}}]", named("ok.example", "x.example"), named("x.example", "ok.example"), true},
		"a host of a rule, now of a certificate":               {"ingresses: [{name: i, mode: enforce, hosts: {allowed: [ok.example]}}]", named("x.example", "ok.example"), named("ok.example", "x.example"), false},
		"a host of spec.tls, now served by an annotation":      {"ingresses: [{name: i, mode: enforce, hosts: {allowed: [ok.example]}}]", claims("ok.example", "x.example"), with("ok.example", alias, "x.example"), true},
		"a host of a DNS record, now served by an annotation":  {"ingresses: [{name: i, mode: enforce, hosts: {allowed: [ok.example]}}]", with("ok.example", "external-dns.kubernetes.io/hostname", "x.example"), with("ok.example", "alb.ingress.kubernetes.io/conditions.a", `[{"hostHeaderConfig":{"values":["x.example"]}}]`), true},
		"a host that an annotation serves, now in a rule":      {"ingresses: [{name: i, mode: enforce, hosts: {allowed: [ok.example]}}]", with("ok.example", alias, "x.example"), withHosts("x.example"), false},
		"a host that an annotation serves, now for a DNS name": {"ingresses: [{name: i, mode: enforce, hosts: {allowed: [ok.example]}}]", with("ok.example", alias, "x.example"), with("ok.example", "external-dns.kubernetes.io/hostname", "x.example"), false},
		"another protocol of a port":                           {"services: [{name: s, mode: enforce, ports: {allowed: ['443']}}]", ports(object.ServicePort{Port: 53}), ports(object.ServicePort{Port: 53, Protocol: "UDP"}), true},
		"a protocol by default":                                {"services: [{name: s, mode: enforce, ports: {allowed: ['443']}}]", ports(object.ServicePort{Port: 53}), ports(object.ServicePort{Port: 53, Protocol: "TCP"}), false},
		"another protocol of a node port":                      {"services: [{name: s, mode: enforce, nodePorts: {allowed: ['30000']}}]", ports(object.ServicePort{NodePort: 30053}), ports(object.ServicePort{NodePort: 30053, Protocol: "UDP"}), true},
		"another transport of a listener":                      {"gateways: [{name: g, mode: enforce, ports: {allowed: ['443']}}]", listener(object.Listener{Port: 53, Protocol: "TCP"}), listener(object.Listener{Port: 53, Protocol: "UDP"}), true},
		"a listener with TLS":                                  {"gateways: [{name: g, mode: enforce, ports: {allowed: ['443']}}]", listener(object.Listener{Port: 80, Protocol: "HTTP"}), listener(object.Listener{Port: 80, Protocol: "HTTPS"}), false},
		"a denied path on another host":                        {"routes: [{name: r, mode: enforce, paths: {denied: [/admin]}}]", openShift("a.example"), openShift("b.example"), true},
		"a denied path on the same host":                       {"routes: [{name: r, mode: enforce, paths: {denied: [/admin]}}]", openShift("a.example"), openShift("a.example"), false},
		"another port of a backend":                            {"routes: [{name: r, mode: enforce, backends: {crossNamespace: deny}}]", backend(80), backend(443), true},
		"the same port of a backend":                           {"routes: [{name: r, mode: enforce, backends: {crossNamespace: deny}}]", backend(80), backend(80), false},
		"another port, by kinds":                               {"routes: [{name: r, mode: enforce, backends: {kinds: []}}]", backend(80), backend(443), true},
		"another port of a mirror":                             {"routes: [{name: r, mode: enforce, backends: {crossNamespace: deny}}]", mirror(80), mirror(443), true},
		"another port of an auth server":                       {"routes: [{name: r, mode: enforce, backends: {crossNamespace: deny}}]", auth(80), auth(443), true},
		"another port of a denied filter":                      {"routes: [{name: r, mode: enforce, filters: {denied: [RequestMirror]}}]", mirror(80), mirror(443), true},
		"the same denied filter":                               {"routes: [{name: r, mode: enforce, filters: {denied: [RequestMirror]}}]", mirror(80), mirror(80), false},
		"another content of a filter":                          {"routes: [{name: r, mode: enforce, filters: {denied: [URLRewrite]}}]", rewrite("a"), rewrite("b"), true},
		"filters in another order":                             {"routes: [{name: r, mode: enforce, filters: {denied: [URLRewrite]}}]", rewrite("a", "b"), rewrite("b", "a"), false},
		"an exact path, now a prefix":                          {"routes: [{name: r, mode: enforce, paths: {denied: [/admin]}}]", match("Exact"), match("PathPrefix"), true},
		"the same path":                                        {"routes: [{name: r, mode: enforce, paths: {denied: [/admin]}}]", match("Exact"), match("Exact"), false},
		"an exact path of an Ingress, now a prefix":            {"ingresses: [{name: i, mode: enforce, paths: {denied: [/admin]}}]", path("Exact"), path("Prefix"), true},
		"an unsafe path, now a prefix":                         {"ingresses: [{name: i, mode: enforce, paths: {unsafeCharacters: deny}}]", path("Exact"), path("Prefix"), true},
		"a denied pattern, now a prefix":                       {"ingresses: [{name: i, mode: enforce, paths: {deniedPatterns: [/admin.*]}}]", path("Exact"), path("Prefix"), true},
		"another mode of an address":                           {"services: [{name: s, mode: enforce, loadBalancerStatus: {allowed: []}}]", status("Proxy", ""), status("VIP", ""), true},
		"a mode by default":                                    {"services: [{name: s, mode: enforce, loadBalancerStatus: {allowed: [], hostnames: []}}]", status("", "[]"), status("VIP", "[]"), false},
		"other ports of an address":                            {"services: [{name: s, mode: enforce, loadBalancerStatus: {allowed: []}}]", status("", `[{"port":80}]`), status("", `[{"port":443}]`), true},
		"other ports of a name":                                {"services: [{name: s, mode: enforce, loadBalancerStatus: {hostnames: []}}]", status("", `[{"port":80}]`), status("", `[{"port":443}]`), true},
		"another mode, by another user than a writer":          {"services: [{name: s, mode: enforce, loadBalancerStatus: {writers: {users: [w]}}}]", status("Proxy", ""), status("VIP", ""), true},
		"a host of spec.tls that moves to a rule":              {"ingresses: [{name: i, mode: enforce, hosts: {allowed: [ok.example]}}]", claims("ok.example", "x.example"), claims("x.example", "ok.example"), true},
		"a host of a rule that moves to spec.tls":              {"ingresses: [{name: i, mode: enforce, hosts: {allowed: [ok.example]}}]", claims("x.example", "ok.example"), claims("ok.example", "x.example"), false},
		"a host of a rule, now in spec.tls too":                {"ingresses: [{name: i, mode: enforce, hosts: {allowed: [ok.example]}}]", claims("x.example", "ok.example"), claims("x.example", "x.example"), false},
		"the owner of a host that moves to a rule":             {"owners: [{name: o, mode: enforce, hosts: [x.example], namespaces: []}]", claims("ok.example", "x.example"), claims("x.example", "ok.example"), true},
		"a record of another type":                             {"dnsEndpoints: [{name: d, mode: enforce, hosts: {allowed: []}}]", record("A", "x.example"), record("NS", "x.example"), true},
		"a record that controls another name":                  {"dnsEndpoints: [{name: d, mode: enforce, hosts: {allowed: []}}]", record("A", "_dmarc.x.example"), record("A", "_acme-challenge.x.example"), true},
	} {
		p := mustLoad(t, test.rule+"\n")
		found := findingsOfUpdate(p, test.old, test.obj)
		denied := slices.ContainsFunc(found, Finding.Denies)
		if len(found) == 0 || denied != test.denied {
			t.Errorf("%s: %v, want denied %t", name, sentences(found), test.denied)
		}
	}
}

// findingsOfUpdate evaluates an update of an object of any kind. Routes are HTTPRoutes.
func findingsOfUpdate(p *Policy, old, obj any) []Finding {
	a := object.Attributes{Operation: object.Update, Resource: httpRoutes, Namespace: "team", User: "jane"}
	switch obj := obj.(type) {
	case *object.Route:
		return must(Routes.Evaluate(p, a, obj, old.(*object.Route), nil))
	case *object.Ingress:
		return must(Ingresses.Evaluate(p, a, obj, old.(*object.Ingress), nil))
	case *object.Service:
		return must(Services.Evaluate(p, a, obj, old.(*object.Service), nil))
	case *object.Gateway:
		return must(Gateways.Evaluate(p, a, obj, old.(*object.Gateway), nil))
	case *object.OpenShiftRoute:
		return must(OpenShiftRoutes.Evaluate(p, a, obj, old.(*object.OpenShiftRoute), nil))
	case *object.Certificate:
		return must(Certificates.Evaluate(p, a, obj, old.(*object.Certificate), nil))
	default:
		return must(DNSEndpoints.Evaluate(p, a, obj.(*object.DNSEndpoint), old.(*object.DNSEndpoint), nil))
	}
}
