package policy

import (
	"slices"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// filtered is a Gateway with one listener without filters and one listener with filters.
func filtered(filters ...object.RouteFilter) object.Gateway {
	return object.Gateway{Listeners: []object.Listener{{Name: "a"}, {Name: "b", Filters: filters}}}
}

// A filter of a listener gets every request to a Gateway before a route is chosen.
func TestListenerFilters(t *testing.T) {
	const at = "spec.listeners[1].filters.requests"
	extension := object.RouteFilter{Type: "ExtensionRef", Extension: &object.Reference{Kind: "Script.filters.example", Namespace: "", Name: "all"}}
	for name, test := range map[string]struct {
		rule string
		g    object.Gateway
		want []string
	}{
		"no filter": {`filters: {denied: [ExternalAuth]}`, filtered(), nil},
		"another":   {`filters: {denied: [ExternalAuth]}`, filtered(extension), nil},
		"denied": {`filters: {denied: [ExternalAuth, ExtensionRef]}`, filtered(extension, askingAbout(service("", "auth"))), []string{
			`r/filters.denied: ` + at + `[0].type: "ExtensionRef" is denied; remove the filter`,
			`r/filters.denied: ` + at + `[1].type: "ExternalAuth" is denied; remove the filter`}},
		"in the namespace": {`backends: {crossNamespace: deny}`, filtered(askingAbout(service("", "auth")), askingAbout(service("team-a", "auth"))), nil},
		"in another namespace": {`backends: {crossNamespace: deny}`, filtered(object.RouteFilter{}, askingAbout(service("log", "auth"))), []string{
			`r/backends.crossNamespace: ` + at + `[1].externalAuth.backendRef.namespace: Service "log/auth" is in another namespace`}},
		"by a host name of Istio": {`backends: {crossNamespace: deny}`, filtered(askingAbout(object.Reference{Kind: istioHostname, Name: "auth.log.svc.cluster.local"})), []string{
			`r/backends.crossNamespace: ` + at + `[0].externalAuth.backendRef.kind: Hostname.networking.istio.io "team-a/auth.log.svc.cluster.local" may be a Service in another namespace; write kind Service`}},
		"copies": {`backends: {crossNamespace: deny}`, filtered(mirrorTo(service("log", "copy"))), []string{
			`r/backends.crossNamespace: ` + at + `[0].requestMirror.backendRef.namespace: Service "log/copy" is in another namespace`}},
		"of a kind": {`backends: {kinds: [Service]}`, filtered(askingAbout(object.Reference{Kind: "XBackend.gateway.networking.x-k8s.io", Namespace: "", Name: "out"})), []string{
			`r/backends.kinds: ` + at + `[0].externalAuth.backendRef.kind: "XBackend.gateway.networking.x-k8s.io" is not allowed; allowed: Service`}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, gatewaysRule(test.rule))
			a := object.Attributes{Operation: object.Create, Namespace: "team-a", Resource: "gateways"}
			equal(t, test.want, sentences(must(Gateways.Evaluate(p, a, &test.g, nil, nil))))
		})
	}
}

// All blocks of a rule have findings, in the order of its fields.
func TestGatewaysOrder(t *testing.T) {
	p := mustLoad(t, gatewaysRule(`addresses: {allowed: []}
  annotations: {denied: [a]}
  filters: {denied: [ExternalAuth]}
  backends: {kinds: []}
  allowedListeners: {from: [None]}
  allowedRoutes: {from: [None]}
  tls: {modes: []}
  protocols: {allowed: []}
  ports: {allowed: []}
  classNames: {allowed: []}
  hosts: {allowed: []}`))
	g := filtered(askingAbout(service("", "auth")))
	g.ClassName, g.Annotations, g.Listeners[0].Protocol = "c", map[string]string{"a": ""}, "TLS"
	g.AllowedListeners, g.Addresses = &object.ListenerNamespaces{From: "All"}, []object.GatewayAddress{{}}
	var got []string
	for _, f := range must(Gateways.Evaluate(p, createGateway, &g, nil, nil)) {
		got = append(got, f.Check)
	}
	equal(t, []string{"hosts.allowed", "classNames.allowed", "ports.allowed", "protocols.allowed", "tls.modes", "allowedRoutes.from",
		"allowedListeners.from", "backends.kinds", "filters.denied", "annotations.denied", "addresses"}, slices.Compact(got))
}

// A filter that a listener had before is exempt only in that listener.
func TestListenerFilterUpdates(t *testing.T) {
	on := func(name string, f object.RouteFilter) *object.Gateway {
		return &object.Gateway{Listeners: []object.Listener{{Name: name, Filters: []object.RouteFilter{f}}}}
	}
	auth := askingAbout(service("log", "auth"))
	rewrite := object.RouteFilter{Type: "RequestHeaderModifier", Content: `{"remove":["x"]}`}
	for name, test := range map[string]struct {
		rule     string
		old, now *object.Gateway
		denied   bool
	}{
		"backend":                     {`backends: {crossNamespace: deny}`, on("a", auth), on("a", auth), false},
		"backend of another listener": {`backends: {crossNamespace: deny}`, on("a", auth), on("b", auth), true},
		"another backend":             {`backends: {crossNamespace: deny}`, on("a", auth), on("a", askingAbout(service("log", "other"))), true},
		"kind of another listener":    {`backends: {kinds: []}`, on("a", auth), on("b", auth), true},
		"filter":                      {`filters: {denied: [ExternalAuth]}`, on("a", auth), on("a", auth), false},
		"filter of another listener":  {`filters: {denied: [ExternalAuth]}`, on("a", auth), on("b", auth), true},
		"content":                     {`filters: {denied: [RequestHeaderModifier]}`, on("a", rewrite), on("a", rewrite), false},
		"content of another listener": {`filters: {denied: [RequestHeaderModifier]}`, on("a", rewrite), on("b", rewrite), true},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, gatewaysRule(test.rule))
			a := object.Attributes{Operation: object.Update, Namespace: "team-a", Resource: "gateways"}
			found := must(Gateways.Evaluate(p, a, test.now, test.old, nil))
			if len(found) != 1 || found[0].Denies() != test.denied {
				t.Errorf("%v, want denied %t", sentences(found), test.denied)
			}
		})
	}
}

func TestListenerFilterErrors(t *testing.T) {
	testErrors(t, "gateways", gatewaysRule, map[string]string{
		"backends: {}":                     "backends: checks nothing: write crossNamespace or kinds",
		"filters: {}":                      "filters: checks nothing: write denied or unsafeCharacters",
		"filters: {denied: []}":            "filters.denied: [] checks nothing: leave the field out",
		"filters: {denied: [Auth]}":        `filters.denied[0]: "Auth" is not a type of filters: write RequestHeaderModifier, ResponseHeaderModifier, RequestMirror, RequestRedirect, URLRewrite, ExtensionRef, CORS, ExternalAuth`,
		"filters: {unsafeCharacters: yes}": `filters.unsafeCharacters: "yes" is not known here: write deny, or leave the field out to allow it`,
	})
}
