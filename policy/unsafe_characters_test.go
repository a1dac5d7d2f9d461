package policy

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Texts that a controller writes into an expression or a configuration cannot end it.
func TestUnsafeCharacters(t *testing.T) {
	p := mustLoad(t, "ingresses: [{name: i, mode: enforce, paths: {unsafeCharacters: deny}}]\n"+
		"routes: [{name: r, mode: enforce, paths: {unsafeCharacters: deny}}]\n")
	const out = ", which can inject text into the controller's configuration (CVE-2026-24512); remove it"
	const path = "/a`) || PathPrefix(`/"
	ing := &Ingress{Rules: []IngressRule{{Paths: []IngressPath{{Path: path, Type: "Prefix"}}}}}
	route := &Route{Rules: []RouteRule{{Matches: []RouteMatch{
		{Path: RoutePath{Value: "/a b"}}, {Path: RoutePath{Value: "/$x(.*)"}},
		{
			Headers:     []MatchText{{"a", "Mozilla/5.0 (X11; {Linux}) it's #1"}, {"a`b", `a"b`}, {"b", "a\nb"}},
			QueryParams: []MatchText{{"a", "`) || Host(`b.example"}, {"c", `\d`}},
		},
	}}}}
	const at = "r/paths.unsafeCharacters: spec.rules[0].matches"
	for _, test := range []struct {
		got  []Finding
		want []string
	}{
		{must(p.EvaluateIngress(creating, ing, nil, nil)), []string{
			"i/paths.unsafeCharacters: spec.rules[0].http.paths[0].path: \"" + path + "\" contains '`', ' '" + out}},
		{must(p.EvaluateRoute(Attributes{Operation: Create, Resource: "httproutes"}, route, nil, nil)), []string{
			at + `[0].path.value: "/a b" contains ' '` + out,
			at + "[2].headers[1].name: \"a`b\" contains '`'" + out,
			at + `[2].headers[1].value: "a\"b" contains '"'` + out,
			at + `[2].headers[2].value: "a\nb" contains '\n'` + out,
			at + "[2].queryParams[0].value: \"`) || Host(`b.example\" contains '`'" + out,
			at + `[2].queryParams[1].value: "\\d" contains '\\'` + out,
		}},
		{must(p.EvaluateOpenShiftRoute(Attributes{Operation: Create, Resource: "routes"}, &OpenShiftRoute{Host: "a.example", Path: "/a`b"}, nil, nil)), []string{
			"r/paths.unsafeCharacters: spec.path: \"/a`b\" contains '`'" + out}},
	} {
		if diff := cmp.Diff(test.want, sentences(test.got)); diff != "" {
			t.Error(diff)
		}
	}
	// An update is not denied for a text that was there before.
	if found := must(p.EvaluateRoute(Attributes{Operation: Update, Resource: "httproutes"}, route, route, nil)); len(found) != 6 || found[1].Denies() {
		t.Error(sentences(found))
	}
}

// Controllers also write the texts of filters into their configuration: values with quotes, everything else without.
func TestUnsafeCharactersOfFilters(t *testing.T) {
	const rules = "routes: [{name: r, mode: enforce, paths: {unsafeCharacters: deny}}]\n" +
		"gateways: [{name: g, mode: enforce, filters: {unsafeCharacters: deny}}]\n"
	p := mustLoad(t, rules)
	const out = ", which can inject text into the controller's configuration (CVE-2026-24512); remove it"
	for name, test := range map[string]struct {
		text FilterText
		want string // behind the path of the filter; empty if it passes
	}{
		"a value":                      {FilterText{"requestHeaderModifier", "set[].value", 0, "a 'b'; {c} #1"}, ""},
		"a value with a quote":         {FilterText{"requestHeaderModifier", "add[].value", 2, `a"b`}, `requestHeaderModifier.add[2].value: "a\"b" contains '"'`},
		"a value with another line":    {FilterText{"responseHeaderModifier", "set[].value", 1, "a\nb"}, `responseHeaderModifier.set[1].value: "a\nb" contains '\n'`},
		"a name":                       {FilterText{"requestHeaderModifier", "set[].name", 0, "X-Forwarded-For"}, ""},
		"a name with the end of one":   {FilterText{"requestHeaderModifier", "remove[]", 3, "a;"}, `requestHeaderModifier.remove[3]: "a;" contains ';'`},
		"a host":                       {FilterText{"urlRewrite", "hostname", 0, "a.example"}, ""},
		"a host with a brace":          {FilterText{"requestRedirect", "hostname", 0, "a.example{"}, `requestRedirect.hostname: "a.example{" contains '{'`},
		"a path":                       {FilterText{"urlRewrite", "path.replacePrefixMatch", 0, "/$1"}, ""},
		"a path with white space":      {FilterText{"urlRewrite", "path.replaceFullPath", 0, "/a b"}, `urlRewrite.path.replaceFullPath: "/a b" contains ' '`},
		"an origin with a quote":       {FilterText{"cors", "allowOrigins[]", 1, "https://a'"}, `cors.allowOrigins[1]: "https://a'" contains '\''`},
		"a path of an authority":       {FilterText{"externalAuth", "http.path", 0, "/a#"}, `externalAuth.http.path: "/a#" contains '#'`},
		"a header sent to one by gRPC": {FilterText{"externalAuth", "grpc.allowedHeaders[]", 0, "a`"}, "externalAuth.grpc.allowedHeaders[0]: \"a`\" contains '`'"},
	} {
		t.Run(name, func(t *testing.T) {
			filters := []RouteFilter{{}, {Texts: []FilterText{test.text}}}
			route := &Route{Rules: []RouteRule{{Filters: filters}, {Backends: []RouteBackend{{Filters: filters}}}}}
			gateway := &Gateway{Listeners: []Listener{{Name: "a"}, {Name: "b", Filters: filters}}}
			var ofRoute, ofGateway []string
			if test.want != "" {
				const at = "r/paths.unsafeCharacters: spec.rules"
				ofRoute = []string{at + "[0].filters[1]." + test.want + out, at + "[1].backendRefs[0].filters[1]." + test.want + out}
				ofGateway = []string{"g/filters.unsafeCharacters: spec.listeners[1].filters.requests[1]." + test.want + out}
			}
			for _, resource := range []string{httpRoutes, grpcRoutes} {
				a := Attributes{Operation: Create, Resource: resource}
				if diff := cmp.Diff(ofRoute, sentences(must(p.EvaluateRoute(a, route, nil, nil)))); diff != "" {
					t.Error(resource, diff)
				}
			}
			a := Attributes{Operation: Create, Resource: "gateways"}
			if diff := cmp.Diff(ofGateway, sentences(must(p.EvaluateGateway(a, gateway, nil, nil)))); diff != "" {
				t.Error(diff)
			}
		})
	}
	// A text that one listener had before does not exempt other listeners.
	old := &Gateway{Listeners: []Listener{{Name: "a", Filters: []RouteFilter{{Texts: []FilterText{{"externalAuth", "http.path", 0, "/a;"}}}}}}}
	moved := &Gateway{Listeners: slices.Clone(old.Listeners)}
	moved.Listeners[0].Name = "b"
	for _, test := range []struct {
		now    *Gateway
		denied bool
	}{{old, false}, {moved, true}} {
		found := must(p.EvaluateGateway(Attributes{Operation: Update, Resource: "gateways"}, test.now, old, nil))
		if len(found) != 1 || found[0].Denies() != test.denied {
			t.Errorf("%v, want denied %t", sentences(found), test.denied)
		}
	}
}

func TestUnsafeCharactersOfSessions(t *testing.T) {
	p := mustLoad(t, "routes: [{name: r, mode: enforce, paths: {unsafeCharacters: deny}}]\n")
	route := &Route{Rules: []RouteRule{{SessionName: "shop-session"}, {SessionName: "a;b"}}}
	want := []string{`r/paths.unsafeCharacters: spec.rules[1].sessionPersistence.sessionName: "a;b" contains ';', which can inject ` +
		`text into the controller's configuration (CVE-2026-24512); remove it`}
	if diff := cmp.Diff(want, sentences(must(p.EvaluateRoute(creatingRoute(""), route, nil, nil)))); diff != "" {
		t.Error(diff)
	}
}
