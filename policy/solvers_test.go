package policy

import (
	"maps"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

const certManager = "system:serviceaccount:cert-manager:cert-manager"

// solverRules have every check that does not apply to a solver.
const solverRules = `
ingresses:
- name: web
  mode: enforce
  tls: {required: true, coversHosts: true, allowHTTP: deny}
  classNames: {required: true, allowed: [public]}
  paths: {types: [Exact, Prefix], denied: [challenge], deniedPatterns: ["/.*"], unsafeCharacters: deny}
  annotations: {denied: ["nginx.ingress.kubernetes.io/*"], required: [{key: corp.example/owner}], deniedValues: [{key: "*", value: ".*0.0.0.0.*"}]}
  ingressNginx: {maxRisk: Low}
services:
- name: inside
  mode: enforce
  types: {allowed: [ClusterIP]}
  ports: {allowed: ["443"]}
  nodePorts: {allowed: []}
  annotations: {denied: ["auth.istio.io/*"], required: [{key: corp.example/owner}]}
routes:
- name: shared
  mode: enforce
  paths: {types: [PathPrefix], denied: [challenge]}
  parents: {allowed: [{namespace: edge, name: public, sectionName: https}]}
  annotations: {required: [{key: corp.example/owner}]}
`

// solverRoute is the HTTPRoute that cert-manager creates for a challenge (v1.21.2, pkg/issuer/acme/http/httproute.go).
func solverRoute() *object.Route {
	return &object.Route{
		Meta:      object.Meta{Labels: map[string]string{solverLabel: "true"}, Owner: "Challenge/x"},
		Hostnames: []string{"shop.corp.example"},
		Parents: []object.RouteParent{{
			Reference: object.Reference{Kind: "Gateway." + gatewayGroup, Namespace: "edge", Name: "public"}, SectionName: "http",
		}},
		Rules: []object.RouteRule{{Matches: []object.RouteMatch{{Path: object.RoutePath{Type: "Exact", Value: challengePath + "x_Y-1"}}}}},
	}
}

// solverService is the Service that cert-manager creates for a challenge (v1.21.2, pkg/issuer/acme/http/service.go).
func solverService() *object.Service {
	return &object.Service{
		Meta: object.Meta{
			Labels:      map[string]string{solverLabel: "true"},
			Annotations: map[string]string{"auth.istio.io/8089": "NONE"},
		},
		Type: "NodePort", Ports: []object.ServicePort{{Name: "http", Port: 8089, NodePort: 30001}},
	}
}

// A solver passes the checks that no solver can meet, if one of the accounts creates it and it has the shape of a
// solver.
func TestSolvers(t *testing.T) {
	ingress := func(tweak func(*object.Ingress)) *object.Ingress {
		ing := solver("shop.corp.example")
		ing.ClassName = new("internal")
		ing.Labels, ing.Annotations = maps.Clone(ing.Labels), maps.Clone(ing.Annotations)
		tweak(ing)
		return ing
	}
	service := func(tweak func(*object.Service)) *object.Service { svc := solverService(); tweak(svc); return svc }
	route := func(tweak func(*object.Route)) *object.Route { r := solverRoute(); tweak(r); return r }
	as := func(user string) object.Attributes {
		return object.Attributes{Operation: object.Create, Namespace: "team-a", Resource: httpRoutes, User: user}
	}
	for name, test := range map[string]struct {
		user, accounts string
		object         any
		denied         bool
	}{
		"an Ingress":                 {certManager, "", ingress(func(*object.Ingress) {}), false},
		"of a tenant":                {"jane", "", ingress(func(*object.Ingress) {}), true},
		"of no user":                 {"", "", ingress(func(*object.Ingress) {}), true},
		"of a user like it":          {certManager + "2", "", ingress(func(*object.Ingress) {}), true},
		"of another account":         {"acme", "solverAccounts: [acme]", ingress(func(*object.Ingress) {}), false},
		"of the default, not listed": {certManager, "solverAccounts: [acme]", ingress(func(*object.Ingress) {}), true},
		"of nobody":                  {certManager, "solverAccounts: []", ingress(func(*object.Ingress) {}), true},
		"another path": {certManager, "", ingress(func(i *object.Ingress) {
			i.Rules[0].Paths = append(i.Rules[0].Paths, object.IngressPath{Path: "/", Type: "Prefix"})
		}), true},
		"below the challenge": {certManager, "", ingress(func(i *object.Ingress) {
			i.Rules[0].Paths = []object.IngressPath{{Path: challengePath + "x/../..", Type: "Prefix"}}
		}), true},
		"no path":           {certManager, "", ingress(func(i *object.Ingress) { i.Rules = append(i.Rules, object.IngressRule{Host: "a.example"}) }), true},
		"no label":          {certManager, "", ingress(func(i *object.Ingress) { delete(i.Labels, solverLabel) }), true},
		"a default backend": {certManager, "", ingress(func(i *object.Ingress) { i.DefaultBackend = &object.IngressBackend{} }), true},
		"an annotation of the issuer": {certManager, "", ingress(func(i *object.Ingress) {
			i.Annotations["nginx.ingress.kubernetes.io/configuration-snippet"] = "x"
		}), true},
		"its annotation, changed": {certManager, "", ingress(func(i *object.Ingress) {
			i.Annotations["nginx.ingress.kubernetes.io/whitelist-source-range"] = "0.0.0.0/0"
		}), true},

		"a Service":               {certManager, "", service(func(*object.Service) {}), false},
		"a Service of a tenant":   {"jane", "", service(func(*object.Service) {}), true},
		"a LoadBalancer":          {certManager, "", service(func(s *object.Service) { s.Type = "LoadBalancer" }), true},
		"another port":            {certManager, "", service(func(s *object.Service) { s.Ports[0].Port = 80 }), true},
		"one more port":           {certManager, "", service(func(s *object.Service) { s.Ports = append(s.Ports, object.ServicePort{Port: 8089}) }), true},
		"a Service with no label": {certManager, "", service(func(s *object.Service) { s.Labels = nil }), true},

		"a route":                {certManager, "", route(func(*object.Route) {}), false},
		"a route of a tenant":    {"jane", "", route(func(*object.Route) {}), true},
		"of another Gateway":     {certManager, "", route(func(r *object.Route) { r.Parents[0].Name = "private" }), true},
		"a prefix":               {certManager, "", route(func(r *object.Route) { r.Rules[0].Matches[0].Path.Type = "PathPrefix" }), true},
		"a rule without a match": {certManager, "", route(func(r *object.Route) { r.Rules = append(r.Rules, object.RouteRule{}) }), true},
		"a route with no label":  {certManager, "", route(func(r *object.Route) { r.Labels = nil }), true},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, solverRules+test.accounts+"\n")
			var got []Finding
			switch obj := test.object.(type) {
			case *object.Ingress:
				got = must(Ingresses.Evaluate(p, as(test.user), obj, nil, nil))
			case *object.Service:
				got = must(Services.Evaluate(p, as(test.user), obj, nil, nil))
			case *object.Route:
				got = must(Routes.Evaluate(p, as(test.user), obj, nil, nil))
			}
			if denied := len(got) > 0; denied != test.denied {
				t.Errorf("got %v", sentences(got))
			}
		})
	}
}

// Anyone who answers the challenge for a host gets a certificate for it, so rules about hosts apply to solvers.
func TestSolversClaimHosts(t *testing.T) {
	p := mustLoad(t, shopAndBank+`
ingresses: [{name: i, mode: enforce, hosts: {required: true, allowed: ["*.corp.example"], wildcards: deny}}]
routes: [{name: r, mode: enforce, hosts: {required: true, allowed: ["**.corp.example"], wildcards: deny}}]
`)
	a := object.Attributes{Operation: object.Create, Namespace: "bank", Resource: httpRoutes, User: certManager}
	for _, host := range []string{"www.example", "", "shop.corp.example"} {
		route := solverRoute()
		if route.Hostnames = nil; host != "" {
			route.Hostnames = []string{host}
		}
		ofIngress, ofRoute := must(Ingresses.Evaluate(p, a, solver(host), nil, nil)), must(Routes.Evaluate(p, a, route, nil, nil))
		if len(ofIngress) == 0 || len(ofRoute) == 0 {
			t.Errorf("%q: %v, %v", host, sentences(ofIngress), sentences(ofRoute))
		}
	}
}

// A tenant cannot turn a solver into another object. An update that keeps it a solver gets at most a warning.
func TestSolverUpdates(t *testing.T) {
	p := mustLoad(t, "ingresses: [{name: tls, mode: enforce, tls: {required: true}}]")
	plain := withHosts("shop.corp.example")
	plain.Rules[0].Paths = []object.IngressPath{{Path: "/", Type: "Prefix"}}
	plain.ClassName = new("public")
	labelled := *plain
	labelled.Labels = map[string]string{solverLabel: "true"}
	for name, test := range map[string]struct {
		user     string
		old, new *object.Ingress
		denied   bool
	}{
		"as it was":                  {"jane", solver("a.example"), solver("a.example"), false},
		"by cert-manager":            {certManager, solver("a.example"), solver("a.example"), false},
		"no solver any more":         {"jane", solver("shop.corp.example"), plain, true},
		"no solver, with its label":  {"jane", solver("shop.corp.example"), &labelled, true},
		"no solver, by cert-manager": {certManager, solver("shop.corp.example"), &labelled, true},
		"never was one":              {"jane", plain, plain, false},
	} {
		t.Run(name, func(t *testing.T) {
			denied := false
			a := object.Attributes{Operation: object.Update, Namespace: "team-a", User: test.user}
			for _, f := range must(Ingresses.Evaluate(p, a, test.new, test.old, nil)) {
				denied = denied || f.Denies()
			}
			if denied != test.denied {
				t.Errorf("denied: %t", denied)
			}
		})
	}
}

func TestSolverAccountsErrors(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("a, ", 21), ", ")
	for text, want := range map[string]string{
		`["system:serviceaccount:*"]`:             `p:3:18: solverAccounts[0]: "system:serviceaccount:*" is not the name of one user: write it out, as in system:serviceaccount:cert-manager:cert-manager`,
		`["system:serviceaccounts:cert-manager"]`: `p:3:18: solverAccounts[0]: "system:serviceaccounts:cert-manager" matches no user: it is a group of service accounts; write it in a list of groups, or write system:serviceaccount:NAMESPACE:NAME`,
		`[""]`:           `p:3:18: solverAccounts[0]: "" is not the name of one user: write it out, as in system:serviceaccount:cert-manager:cert-manager`,
		"[" + many + "]": `p:3:17: solverAccounts: has 21 users; at most 20 are read`,
	} {
		_, err := Load(policyFile("p", "solverAccounts: "+text+"\n"))
		if err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// Users in several files add up, and an empty list differs from an absent list.
func TestSolverAccountsOfFiles(t *testing.T) {
	for name, test := range map[string]struct {
		a, b   string
		denied bool
	}{
		"both":            {"solverAccounts: [x]\n", "solverAccounts: [" + certManager + "]\n", false},
		"one, and none":   {"solverAccounts: [" + certManager + "]\n", "solverAccounts: []\n", false},
		"none in one":     {"solverAccounts: []\n", "", true},
		"none in another": {"", "solverAccounts: []\n", true},
		"absent in both":  {"", "", false},
	} {
		p := must(Load(policyFile("a", test.a+solverRules), policyFile("b", test.b)))
		a := object.Attributes{Operation: object.Create, Namespace: "team-a", User: certManager}
		if got := must(Services.Evaluate(p, a, solverService(), nil, nil)); len(got) > 0 != test.denied {
			t.Errorf("%s: %v", name, sentences(got))
		}
	}
}
