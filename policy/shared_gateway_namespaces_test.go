package policy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

const shopCarried = shopAndBank + `
sharedGatewayNamespaces: [gateways, "edge-*"]
`

// Listeners of Gateways claim hosts of owners.
func TestGatewayOwners(t *testing.T) {
	p := mustLoad(t, shopCarried)
	annotated := withListeners()
	annotated.InfrastructureAnnotations = map[string]string{"external-dns.kubernetes.io/hostname": "*.shop.corp.example"}
	const path, shop = `shop/owners: spec.listeners[0].hostname: `, ` belongs to the namespaces shop-* (ask #shop)`
	for name, test := range map[string]struct {
		namespace string
		g         object.Gateway
		want      []string
	}{
		"its owner":             {"shop-eu", withListeners("shop.corp.example"), nil},
		"another":               {"bank", withListeners("shop.corp.example"), []string{path + `"shop.corp.example"` + shop}},
		"one that carries":      {"gateways", withListeners("shop.corp.example", "*.bank.example"), nil},
		"one of a pattern":      {"edge-eu", withListeners("shop.corp.example"), nil},
		"not quite":             {"gateways-2", withListeners("shop.corp.example"), []string{path + `"shop.corp.example"` + shop}},
		"without a namespace":   {"", withListeners("shop.corp.example"), []string{path + `"shop.corp.example"` + shop}},
		"no hostname":           {"bank", withListeners(""), nil},
		"no hostname, then one": {"bank", withListeners("", "reserved.example"), []string{`reserved/owners: spec.listeners[1].hostname: "reserved.example" does not belong to any namespace`}},
		"no name": {"bank", withListeners("*"), []string{
			`pay/owners: spec.listeners[0].hostname: "*" may cover every host, including pay.bank.example, which belongs to the namespaces pay; write each host out`}},
		"over another's": {"platform", withListeners("*.corp.example"), []string{
			`shop/owners: spec.listeners[0].hostname: "*.corp.example" (names at any depth) also covers hosts of shop.corp.example, which belongs to the namespaces shop-*; write each host out (ask #shop)`}},
		"any depth": {"bank", withListeners("*.corp.example"), []string{
			`corp/owners: spec.listeners[0].hostname: "*.corp.example" (names at any depth) belongs to the namespaces platform`}},
		"a record": {"bank", annotated, []string{
			`shop/owners: spec.infrastructure.annotations["external-dns.kubernetes.io/hostname"]: "*.shop.corp.example" (names at any depth)` + shop}},
		"a record of one that carries": {"gateways", annotated, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := object.Attributes{Operation: object.Create, Namespace: test.namespace, Resource: "gateways"}
			equal(t, test.want, sentences(must(Gateways.Evaluate(p, a, &test.g, nil, nil))))
		})
	}
}

// Shared gateway namespaces are exempt only from owners. Rules about hosts, and Ingresses and Services in the same
// namespaces, are evaluated as usual.
func TestSharedNamespacesExemptOfOwnersAlone(t *testing.T) {
	p := mustLoad(t, shopCarried+gatewaysRule(`hosts: {allowed: ["**.corp.example"]}`))
	g := withListeners("pay.bank.example")
	a := object.Attributes{Operation: object.Create, Namespace: "gateways"}
	want := []string{`r/hosts.allowed: spec.listeners[0].hostname: "pay.bank.example" is not allowed; allowed: **.corp.example`}
	equal(t, want, sentences(must(Gateways.Evaluate(p, a, &g, nil, nil))))
	want = []string{`reserved/owners: spec.rules[0].host: "reserved.example" does not belong to any namespace`}
	equal(t, want, sentences(must(Ingresses.Evaluate(p, a, withHosts("reserved.example"), nil, nil))))
	svc := &object.Service{Meta: object.Meta{Annotations: map[string]string{"external-dns.kubernetes.io/hostname": "reserved.example"}}}
	if got := must(Services.Evaluate(p, a, svc, nil, nil)); len(got) != 1 {
		t.Errorf("of a Service: %v", got)
	}
}

// If no owners entry is active, sharedGatewayNamespaces has no effect, and the policy gets a warning.
func TestSharedNamespacesWithoutOwners(t *testing.T) {
	const service = "services: [{name: s, mode: enforce, types: {denied: [NodePort]}}]\n"
	owners := func(mode string) string {
		return "owners: [{name: o, mode: " + mode + ", hosts: [a.example], namespaces: []}]\n"
	}
	const carried, apart = "sharedGatewayNamespaces: [gateways]\n", "---\napiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"
	const warning = ": sharedGatewayNamespaces: has no effect, because no owners entry is active: these namespaces are exempt only from owners; " +
		"write owners, or leave sharedGatewayNamespaces out"
	for name, test := range map[string]struct{ text, at string }{
		"without":                         {service + carried, "p:1:1"},
		"off":                             {owners("off") + carried, "p:1:1"},
		"in the second document":          {service + apart + carried, "p:5:1"},
		"with owners":                     {owners("enforce") + carried, ""},
		"with owners that audit":          {owners("audit") + carried, ""},
		"with owners of another document": {carried + apart + owners("enforce"), ""},
		"no sharedGatewayNamespaces":      {service, ""},
		"none of them":                    {service + "sharedGatewayNamespaces: []\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			if test.at != "" {
				want = []string{test.at + warning}
			}
			p := must(Load(policyFile("p", test.text)))
			equal(t, want, p.Warnings())
		})
	}
}

// cert-manager makes a Certificate for the listeners of a Gateway, in the Gateway's namespace.
func TestSharedNamespacesCertificates(t *testing.T) {
	p := mustLoad(t, shopCarried)
	for namespace, denied := range map[string]bool{"gateways": false, "bank": true, "shop-eu": false} {
		crt := &object.Certificate{DNSNames: []string{"shop.corp.example"}}
		got := must(Certificates.Evaluate(p, object.Attributes{Operation: object.Create, Namespace: namespace}, crt, nil, nil))
		if len(got) > 0 != denied {
			t.Errorf("%s: %v", namespace, got)
		}
	}
}

// solver is the Ingress that cert-manager makes for a challenge (v1.21.2, pkg/issuer/acme/http/ingress.go).
func solver(host string) *object.Ingress {
	return &object.Ingress{
		Meta: object.Meta{
			GenerateName: "cm-acme-http-solver-",
			Labels: map[string]string{
				"acme.cert-manager.io/http-domain": "1234567890", "acme.cert-manager.io/http-token": "987654321",
				"acme.cert-manager.io/http01-solver": "true",
			},
			Annotations: map[string]string{"nginx.ingress.kubernetes.io/whitelist-source-range": "0.0.0.0/0,::/0"},
			Owner:       "Challenge/x",
		},
		ClassName: new("internal"),
		Rules: []object.IngressRule{{Host: host, Paths: []object.IngressPath{
			{Path: "/.well-known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0", Type: "ImplementationSpecific"},
		}}},
	}
}

// A solver in a shared gateway namespace does not claim hosts of owners. Other objects that look like a solver do.
func TestSharedNamespacesSolvers(t *testing.T) {
	p := mustLoad(t, shopCarried)
	tweaked := func(tweak func(*object.Ingress)) *object.Ingress {
		ing := solver("shop.corp.example")
		ing.Labels, ing.Annotations = maps.Clone(ing.Labels), maps.Clone(ing.Annotations)
		tweak(ing)
		return ing
	}
	path := func(path string) *object.Ingress {
		return tweaked(func(ing *object.Ingress) {
			ing.Rules[0].Paths = append(ing.Rules[0].Paths, object.IngressPath{Path: path, Type: "Exact"})
		})
	}
	for name, test := range map[string]struct {
		namespace string
		ing       *object.Ingress
		exempt    bool
	}{
		"a solver":               {"gateways", solver("shop.corp.example"), true},
		"a solver of an address": {"gateways", solver(""), true},
		"of its own host":        {"shop-eu", solver("shop.corp.example"), true},
		"elsewhere":              {"bank", solver("shop.corp.example"), false},
		"without a namespace":    {"", solver("shop.corp.example"), false},
		"no label":               {"gateways", tweaked(func(ing *object.Ingress) { delete(ing.Labels, solverLabel) }), false},
		"another value":          {"gateways", tweaked(func(ing *object.Ingress) { ing.Labels[solverLabel] = "false" }), false},
		"another challenge":      {"gateways", path("/.well-known/acme-challenge/x"), true},
		"another path":           {"gateways", path("/"), false},
		"all challenges":         {"gateways", path("/.well-known/acme-challenge/"), false},
		"a regular expression":   {"gateways", path("/.well-known/acme-challenge/x|/.*"), false},
		"below a challenge":      {"gateways", path("/.well-known/acme-challenge/../x"), false},
		"a rule without paths": {"gateways", tweaked(func(ing *object.Ingress) {
			ing.Rules = append(ing.Rules, object.IngressRule{Host: "shop.corp.example"})
		}), false},
		"no rules":          {"gateways", tweaked(func(ing *object.Ingress) { ing.Rules = nil }), false},
		"a default backend": {"gateways", tweaked(func(ing *object.Ingress) { ing.DefaultBackend = &object.IngressBackend{} }), false},
		"TLS":               {"gateways", tweaked(func(ing *object.Ingress) { ing.TLS = []object.IngressTLS{{Hosts: []string{"shop.corp.example"}}} }), false},
		"a record":          {"gateways", tweaked(func(ing *object.Ingress) { ing.Annotations["external-dns.kubernetes.io/hostname"] = "free.example" }), false},
		"a server alias": {"gateways", tweaked(func(ing *object.Ingress) {
			ing.Annotations["nginx.ingress.kubernetes.io/server-alias"] = "free.example"
		}), false},
		"an annotation like many": {"gateways", tweaked(func(ing *object.Ingress) { ing.Annotations["kubernetes.io/tls-acme"] = "true" }), true},
	} {
		t.Run(name, func(t *testing.T) {
			got := must(Ingresses.Evaluate(p, object.Attributes{Operation: object.Create, Namespace: test.namespace}, test.ing, nil, nil))
			if exempt := len(got) == 0; exempt != test.exempt {
				t.Errorf("got %v", got)
			}
		})
	}
}

// The same applies to the HTTPRoute that cert-manager creates for a challenge (v1.21.2,
// pkg/issuer/acme/http/httproute.go).
func TestSharedNamespacesSolverRoutes(t *testing.T) {
	p := mustLoad(t, shopCarried)
	solver := func(tweak func(*object.Route)) *object.Route {
		route := &object.Route{
			Meta:      object.Meta{Labels: map[string]string{solverLabel: "true"}, Owner: "Challenge/x"},
			Hostnames: []string{"shop.corp.example"},
			Rules:     []object.RouteRule{{Matches: []object.RouteMatch{{Path: object.RoutePath{Type: "Exact", Value: "/.well-known/acme-challenge/x_Y-1"}}}}},
		}
		tweak(route)
		return route
	}
	as := func(*object.Route) {}
	for name, test := range map[string]struct {
		namespace string
		route     *object.Route
		exempt    bool
	}{
		"a solver":               {"gateways", solver(as), true},
		"a solver of an address": {"gateways", solver(func(r *object.Route) { r.Hostnames = nil }), true},
		"elsewhere":              {"bank", solver(as), false},
		"no label":               {"gateways", solver(func(r *object.Route) { r.Labels = nil }), false},
		"a prefix":               {"gateways", solver(func(r *object.Route) { r.Rules[0].Matches[0].Path.Type = "PathPrefix" }), false},
		"another path":           {"gateways", solver(func(r *object.Route) { r.Rules[0].Matches[0].Path.Value = "/" }), false},
		"one more match":         {"gateways", solver(func(r *object.Route) { r.Rules[0].Matches = append(r.Rules[0].Matches, object.RouteMatch{}) }), false},
		"a rule without matches": {"gateways", solver(func(r *object.Route) { r.Rules = append(r.Rules, object.RouteRule{}) }), false},
		"no rules":               {"gateways", solver(func(r *object.Route) { r.Rules = nil }), false},
		"a record": {"gateways", solver(func(r *object.Route) {
			r.Annotations = map[string]string{"external-dns.kubernetes.io/hostname": "free.example"}
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			a := object.Attributes{Operation: object.Create, Namespace: test.namespace, Resource: "httproutes"}
			got := must(Routes.Evaluate(p, a, test.route, nil, nil))
			if exempt := len(got) == 0; exempt != test.exempt {
				t.Errorf("got %v", got)
			}
		})
	}
}

// In a shared gateway namespace, an HTTPRoute that only redirects to HTTPS does not claim hosts of owners. Any other
// filter, text or backend ends the exemption, also in an update.
func TestSharedNamespacesRedirects(t *testing.T) {
	p := mustLoad(t, shopCarried)
	redirect := func(tweak func(*object.Route, *object.RouteRule, *object.RouteFilter)) *object.Route {
		one := object.RouteRule{Filters: []object.RouteFilter{{
			Type: "RequestRedirect", Texts: []object.FilterText{{Field: "requestRedirect", In: "scheme", Value: "https"}},
		}}}
		other := object.RouteRule{Filters: slices.Clone(one.Filters)}
		route := &object.Route{Rules: []object.RouteRule{one, other}}
		tweak(route, &route.Rules[1], &route.Rules[1].Filters[0])
		return route
	}
	type (
		route  = object.Route
		rule   = object.RouteRule
		filter = object.RouteFilter
	)
	text := func(in string) func(*route, *rule, *filter) {
		return func(_ *route, _ *rule, f *filter) {
			f.Texts = append(slices.Clone(f.Texts), object.FilterText{Field: "requestRedirect", In: in, Value: "x"})
		}
	}
	only := redirect(func(*route, *rule, *filter) {})
	for name, test := range map[string]struct {
		namespace, resource string
		route               *object.Route
		exempt              bool
	}{
		"every host":        {"gateways", httpRoutes, only, true},
		"elsewhere":         {"bank", httpRoutes, only, false},
		"another kind":      {"gateways", grpcRoutes, only, false},
		"a host":            {"edge-eu", httpRoutes, redirect(func(r *route, _ *rule, _ *filter) { r.Hostnames = []string{"shop.corp.example"} }), true},
		"a path":            {"gateways", httpRoutes, redirect(func(_ *route, r *rule, _ *filter) { r.Matches = make([]object.RouteMatch, 1) }), true},
		"no rules":          {"gateways", httpRoutes, &object.Route{}, false},
		"another type":      {"gateways", httpRoutes, redirect(func(_ *route, _ *rule, f *filter) { f.Type = "URLRewrite" }), false},
		"a second filter":   {"gateways", httpRoutes, redirect(func(_ *route, r *rule, f *filter) { r.Filters = append(r.Filters, *f) }), false},
		"a backend":         {"gateways", httpRoutes, redirect(func(_ *route, r *rule, _ *filter) { r.Backends = make([]object.RouteBackend, 1) }), false},
		"a mirror":          {"gateways", httpRoutes, redirect(func(_ *route, _ *rule, f *filter) { f.Mirror = &object.Reference{} }), false},
		"an authorization":  {"gateways", httpRoutes, redirect(func(_ *route, _ *rule, f *filter) { f.Auth = &object.Reference{} }), false},
		"an extension":      {"gateways", httpRoutes, redirect(func(_ *route, _ *rule, f *filter) { f.Extension = &object.Reference{} }), false},
		"to plain HTTP":     {"gateways", httpRoutes, redirect(func(_ *route, _ *rule, f *filter) { f.Texts[0].Value = "http" }), false},
		"to no scheme":      {"gateways", httpRoutes, redirect(func(_ *route, _ *rule, f *filter) { f.Texts = nil }), false},
		"to another host":   {"gateways", httpRoutes, redirect(text("hostname")), false},
		"to another path":   {"gateways", httpRoutes, redirect(text("path.replaceFullPath")), false},
		"to another prefix": {"gateways", httpRoutes, redirect(text("path.replacePrefixMatch")), false},
		"a record": {"gateways", httpRoutes, redirect(func(r *route, _ *rule, _ *filter) {
			r.Annotations = map[string]string{"external-dns.kubernetes.io/hostname": "free.example"}
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			a := object.Attributes{Operation: object.Create, Namespace: test.namespace, Resource: test.resource}
			if got := must(Routes.Evaluate(p, a, test.route, nil, nil)); len(got) == 0 != test.exempt {
				t.Errorf("got %v", sentences(got))
			}
			a.Operation = object.Update
			got := must(Routes.Evaluate(p, a, test.route, only, nil))
			if denied := len(got) > 0 && got[0].Denies(); test.namespace != "bank" && test.resource == httpRoutes && denied == test.exempt {
				t.Errorf("an update of a redirect: got %v", sentences(got))
			}
		})
	}
}

// http01-edit-in-place adds a path or a rule for a host that the Ingress already has. A solver that becomes an ordinary
// Ingress then claims its host.
func TestSharedNamespacesSolverUpdates(t *testing.T) {
	p := mustLoad(t, shopCarried)
	edited := withHosts("shop.corp.example", "shop.corp.example")
	edited.Rules[1].Paths = solver("").Rules[0].Paths
	for name, test := range map[string]struct {
		old, new *object.Ingress
		denied   bool
	}{
		"edited in place":      {withHosts("shop.corp.example"), edited, false},
		"a host that is new":   {withHosts("free.example"), edited, true},
		"no longer a solver":   {solver("shop.corp.example"), withHosts("shop.corp.example"), true},
		"a solver as it stood": {solver("shop.corp.example"), solver("shop.corp.example"), false},
	} {
		t.Run(name, func(t *testing.T) {
			a := object.Attributes{Operation: object.Update, Namespace: "gateways"}
			denied := false
			for _, f := range must(Ingresses.Evaluate(p, a, test.new, test.old, nil)) {
				denied = denied || f.Denies()
			}
			if denied != test.denied {
				t.Errorf("denied: %t", denied)
			}
		})
	}
}

func TestSharedNamespacesErrors(t *testing.T) {
	for text, want := range map[string]string{
		`sharedGatewayNamespaces: ["*"]`:     `p:3:27: sharedGatewayNamespaces[0]: "*" matches every namespace, so Gateways could take the hosts of all owners: list the namespaces of shared Gateways`,
		`sharedGatewayNamespaces: ["Infra"]`: `p:3:27: sharedGatewayNamespaces[0]: "Infra" matches nothing: a namespace is written with lower case letters, digits and -, at most 63; write infra`,
		`sharedGatewayNamespaces: [""]`:      `p:3:27: sharedGatewayNamespaces[0]: an empty pattern matches nothing: write "*" for everything`,
	} {
		_, err := Load(policyFile("p", text+"\n"))
		if err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// The lists of several files add up.
func TestSharedNamespacesOfFiles(t *testing.T) {
	p, err := Load(policyFile("a.yaml", "sharedGatewayNamespaces: [gateways]\n"), policyFile("b.yaml", "sharedGatewayNamespaces: [edge]\n"+strings.TrimSpace(shopAndBank)+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	g := withListeners("shop.corp.example")
	for _, namespace := range []string{"gateways", "edge"} {
		if got := must(Gateways.Evaluate(p, object.Attributes{Operation: object.Create, Namespace: namespace}, &g, nil, nil)); got != nil {
			t.Errorf("%s: %v", namespace, got)
		}
	}
}
