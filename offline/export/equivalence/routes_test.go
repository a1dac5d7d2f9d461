package equivalence

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evergate/evergate/offline/export"
)

// gatewayKinds contains the exported kinds of routes.
const gatewayKinds = "kinds: [HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, UDPRoute]"

// routePolicies returns the policies that generated routes are compared with. Together, they contain every exported
// field.
func routePolicies() map[string]string {
	return map[string]string{
		"hosts": `
annotationPrefixes: {externalDNS: [dns.example]}
routes:
- {name: r, mode: enforce, ` + gatewayKinds + `, hosts: {required: true, allowed: ["**.example.com", "{namespace}.corp.example"], max: 2}}
- {name: http, mode: enforce, kinds: [HTTPRoute, TLSRoute], hosts: {meshHosts: true, denied: ["*.b.example.com", b.example.com, "**.evil.example", x.y.deep.example.com]}}
- {name: w, mode: warn, ` + gatewayKinds + `, match: {labels: [app]}, exclude: {users: [bob]}, hosts: {wildcards: deny, meshHosts: true}}
`,
		"rules": `
routes:
- {name: paths, mode: enforce, message: "ask #net", ` + gatewayKinds + `, paths: {types: [Exact, PathPrefix], denied: [/Admin, .env], deniedPatterns: ["/internal.*", "/[*]/.*"]}}
- {name: parents, mode: enforce, ` + gatewayKinds + `, parents: {allowed: [{namespace: edge, name: "public-*"}, {kind: Service}, {name: own, sectionName: "http*"}, {kind: ListenerSet, namespace: "*"}], crossNamespace: deny}}
- {name: backends, mode: enforce, ` + gatewayKinds + `, backends: {crossNamespace: deny, kinds: [Service, "*.x.example"]}}
- {name: keys, mode: audit, ` + gatewayKinds + `, annotations: {denied: ["evil.example/*"], required: [{key: example.com/team, value: "[a-z]+"}]}}
- {name: nothing, mode: audit, kinds: [UDPRoute, TCPRoute], parents: {allowed: []}, backends: {kinds: []}}
`,
	}
}

func TestRoutes(t *testing.T) { compareGenerated(t, routePolicies(), 4, generateRoute, export.VAP) }

// generateRoute returns a request with a route. In half of the cases, it is an update with changes.
func generateRoute(r *rand.Rand) request {
	kind := pick(r, "HTTPRoute", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute")
	return changed(r, func() map[string]any { return route(r, kind) })
}

// changed returns a request that creates an object, or updates an object with some equal fields.
func changed(r *rand.Rand, object func() map[string]any) request {
	req := request{object: object(), namespace: pick(r, "team-a", "other"), user: pick(r, "jane", "bob", "jane")}
	if r.IntN(2) == 0 {
		return req
	}
	req.old = object()
	for _, field := range []string{"spec", "metadata"} {
		was, now := req.old[field].(map[string]any), req.object[field].(map[string]any)
		for key, value := range inOrder(now) {
			if r.IntN(3) > 0 {
				was[key] = value
			}
		}
	}
	return req
}

func route(r *rand.Rand, kind string) map[string]any {
	spec := map[string]any{}
	for range r.IntN(4) {
		if h := host(r); h != "" && kind != "TCPRoute" && kind != "UDPRoute" {
			spec["hostnames"] = added(spec["hostnames"], h)
		}
	}
	onlyServices := r.IntN(3) == 0
	for range r.IntN(3) {
		parent := map[string]any{"name": pick(r, "public-a", "own", "private", "a b\u2028c", strings.Repeat("x", 90))}
		if onlyServices || r.IntN(4) == 0 {
			parent["group"], parent["kind"] = "", "Service"
		} else if r.IntN(3) == 0 {
			parent["kind"] = pick(r, "Gateway", "ListenerSet", "Other")
			parent["group"] = pick(r, "gateway.networking.k8s.io", "x.example")
		}
		maybe(r, parent, "namespace", "edge", "team-a", "other")
		maybe(r, parent, "sectionName", "http", "https", "tcp")
		if r.IntN(4) == 0 {
			parent["port"] = 80 + r.IntN(2)
		}
		spec["parentRefs"] = added(spec["parentRefs"], parent)
	}
	if r.IntN(6) == 0 {
		spec["useDefaultGateways"] = pick(r, "All", "None")
	}
	for range r.IntN(3) {
		spec["rules"] = added(spec["rules"], routeRule(r, kind))
	}
	return map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind, "metadata": customMeta(r, kind), "spec": spec,
	}
}

// added returns a list with one more element.
func added(list any, element any) []any {
	all, _ := list.([]any)
	return append(all, element)
}

// maybe sets a field in half of the cases.
func maybe(r *rand.Rand, fields map[string]any, name string, values ...string) {
	if r.IntN(2) == 0 {
		fields[name] = pick(r, values...)
	}
}

// customMeta returns the metadata of a custom resource.
func customMeta(r *rand.Rand, kind string) map[string]any {
	meta := map[string]any{"name": "p"}
	if r.IntN(2) == 0 {
		meta["labels"] = map[string]any{"app": "x"}
	}
	annotations := map[string]any{}
	for range r.IntN(3) {
		annotations[pick(r, "evil.example/a", "example.com/team", "x")] = pick(r, "", "abc", "a;b", "Ü", long(r))
	}
	for r.IntN(3) == 0 {
		_, value := hostAnnotation(r, kind)
		annotations[pick(r, "external-dns.kubernetes.io/hostname", "External-dns.alpha.kubernetes.io/Hostname",
			"dns.example/hostname",
			"konghq.com/snis", "cert-manager.io/common-name", "cert-manager.io/alt-names", "zalando.org/dnsname")] = value
	}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	return meta
}

func routeRule(r *rand.Rand, kind string) map[string]any {
	rule := map[string]any{}
	for range r.IntN(3) {
		match := map[string]any{}
		switch {
		case kind == "HTTPRoute" && r.IntN(4) > 0:
			path := map[string]any{}
			maybe(r, path, "type", "Exact", "PathPrefix", "RegularExpression")
			maybe(r, path, "value", "/", "/admin/x", "/ADMIN", "/internal/a", "/a.min", "/.nv", "/[a]dmin", "/x$")
			match["path"], match["method"] = path, "GET"
		case kind == "GRPCRoute" && r.IntN(4) > 0:
			method := map[string]any{}
			maybe(r, method, "type", "Exact", "RegularExpression")
			maybe(r, method, "service", "a.Admin", "internal", "foo.*")
			maybe(r, method, "method", "Get", "admin")
			match["method"] = method
		}
		rule["matches"] = added(rule["matches"], match)
	}
	for range r.IntN(3) {
		backend := backendRef(r)
		for range r.IntN(2) {
			backend["filters"] = added(backend["filters"], filter(r))
		}
		rule["backendRefs"] = added(rule["backendRefs"], backend)
	}
	for range r.IntN(3) {
		rule["filters"] = added(rule["filters"], filter(r))
	}
	return rule
}

func backendRef(r *rand.Rand) map[string]any {
	ref := map[string]any{"name": pick(r, "a", "b")}
	maybe(r, ref, "namespace", "team-a", "other", "pay")
	if r.IntN(3) == 0 {
		ref["group"], ref["kind"] = pick(r, "", "x.example", "gateway.networking.k8s.io", "networking.istio.io"),
			pick(r, "Service", "Import", "Hostname")
	}
	if r.IntN(2) == 0 {
		ref["port"] = 80 + r.IntN(2)
	}
	return ref
}

func filter(r *rand.Rand) map[string]any {
	f := map[string]any{"type": pick(r, "RequestMirror", "ExtensionRef", "URLRewrite", "ExternalAuth", "CORS")}
	switch f["type"] {
	case "RequestMirror":
		f["requestMirror"] = map[string]any{"backendRef": backendRef(r)}
	case "ExternalAuth":
		f["externalAuth"] = map[string]any{"protocol": "HTTP", "backendRef": backendRef(r)}
	case "ExtensionRef":
		f["extensionRef"] = map[string]any{"group": "x.example", "kind": "Filter", "name": pick(r, "a", "b")}
	}
	return f
}
