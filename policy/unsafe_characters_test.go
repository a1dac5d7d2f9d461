package policy

import (
	"slices"
	"testing"

	"github.com/evergate/evergate/policy/object"
	"github.com/google/go-cmp/cmp"
)

// Texts that a controller writes into an expression or a configuration cannot end it.
func TestUnsafeCharacters(t *testing.T) {
	p := mustLoad(t, "ingresses: [{name: i, mode: enforce, paths: {unsafeCharacters: deny}}]\n"+
		"routes: [{name: r, mode: enforce, paths: {unsafeCharacters: deny}}]\n")
	const out = ", which can inject text into the controller's configuration (CVE-2026-24512); remove it"
	const path = "/a`) || PathPrefix(`/"
	ing := &object.Ingress{Rules: []object.IngressRule{{Paths: []object.IngressPath{{Path: path, Type: "Prefix"}}}}}
	route := &object.Route{Rules: []object.RouteRule{{Matches: []object.RouteMatch{
		{Path: object.RoutePath{Value: "/a b"}}, {Path: object.RoutePath{Value: "/$x(.*)"}},
		{
			Headers:     []object.MatchText{{Name: "a", Value: "Mozilla/5.0 (X11; {Linux}) it's #1"}, {Name: "a`b", Value: `a"b`}, {Name: "b", Value: "a\nb"}},
			QueryParams: []object.MatchText{{Name: "a", Value: "`) || Host(`b.example"}, {Name: "c", Value: `\d`}},
		},
	}}}}
	const at = "r/paths.unsafeCharacters: spec.rules[0].matches"
	for _, test := range []struct {
		got  []Finding
		want []string
	}{
		{must(p.EvaluateIngress(creating, ing, nil, nil)), []string{
			"i/paths.unsafeCharacters: spec.rules[0].http.paths[0].path: \"" + path + "\" contains '`', ' '" + out}},
		{must(p.EvaluateRoute(object.Attributes{Operation: object.Create, Resource: "httproutes"}, route, nil, nil)), []string{
			at + `[0].path.value: "/a b" contains ' '` + out,
			at + "[2].headers[1].name: \"a`b\" contains '`'" + out,
			at + `[2].headers[1].value: "a\"b" contains '"'` + out,
			at + `[2].headers[2].value: "a\nb" contains '\n'` + out,
			at + "[2].queryParams[0].value: \"`) || Host(`b.example\" contains '`'" + out,
			at + `[2].queryParams[1].value: "\\d" contains '\\'` + out,
		}},
		{must(p.EvaluateOpenShiftRoute(object.Attributes{Operation: object.Create, Resource: "routes"}, &object.OpenShiftRoute{Host: "a.example", Path: "/a`b"}, nil, nil)), []string{
			"r/paths.unsafeCharacters: spec.path: \"/a`b\" contains '`'" + out}},
	} {
		equal(t, test.want, sentences(test.got))
	}
	// An update is not denied for a text that was there before.
	if found := must(p.EvaluateRoute(object.Attributes{Operation: object.Update, Resource: "httproutes"}, route, route, nil)); len(found) != 6 || found[1].Denies() {
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
		text object.FilterText
		want string // behind the path of the filter; empty if it passes
	}{
		"a value":                      {object.FilterText{Field: "requestHeaderModifier", In: "set[].value", Index: 0, Value: "a 'b'; {c} #1"}, ""},
		"a value with a quote":         {object.FilterText{Field: "requestHeaderModifier", In: "add[].value", Index: 2, Value: `a"b`}, `requestHeaderModifier.add[2].value: "a\"b" contains '"'`},
		"a value with another line":    {object.FilterText{Field: "responseHeaderModifier", In: "set[].value", Index: 1, Value: "a\nb"}, `responseHeaderModifier.set[1].value: "a\nb" contains '\n'`},
		"a name":                       {object.FilterText{Field: "requestHeaderModifier", In: "set[].name", Index: 0, Value: "X-Forwarded-For"}, ""},
		"a name with the end of one":   {object.FilterText{Field: "requestHeaderModifier", In: "remove[]", Index: 3, Value: "a;"}, `requestHeaderModifier.remove[3]: "a;" contains ';'`},
		"a host":                       {object.FilterText{Field: "urlRewrite", In: "hostname", Index: 0, Value: "a.example"}, ""},
		"a host with a brace":          {object.FilterText{Field: "requestRedirect", In: "hostname", Index: 0, Value: "a.example{"}, `requestRedirect.hostname: "a.example{" contains '{'`},
		"a path":                       {object.FilterText{Field: "urlRewrite", In: "path.replacePrefixMatch", Index: 0, Value: "/$1"}, ""},
		"a path with white space":      {object.FilterText{Field: "urlRewrite", In: "path.replaceFullPath", Index: 0, Value: "/a b"}, `urlRewrite.path.replaceFullPath: "/a b" contains ' '`},
		"an origin with a quote":       {object.FilterText{Field: "cors", In: "allowOrigins[]", Index: 1, Value: "https://a'"}, `cors.allowOrigins[1]: "https://a'" contains '\''`},
		"a path of an authority":       {object.FilterText{Field: "externalAuth", In: "http.path", Index: 0, Value: "/a#"}, `externalAuth.http.path: "/a#" contains '#'`},
		"a header sent to one by gRPC": {object.FilterText{Field: "externalAuth", In: "grpc.allowedHeaders[]", Index: 0, Value: "a`"}, "externalAuth.grpc.allowedHeaders[0]: \"a`\" contains '`'"},
	} {
		t.Run(name, func(t *testing.T) {
			filters := []object.RouteFilter{{}, {Texts: []object.FilterText{test.text}}}
			route := &object.Route{Rules: []object.RouteRule{{Filters: filters}, {Backends: []object.RouteBackend{{Filters: filters}}}}}
			gateway := &object.Gateway{Listeners: []object.Listener{{Name: "a"}, {Name: "b", Filters: filters}}}
			var ofRoute, ofGateway []string
			if test.want != "" {
				const at = "r/paths.unsafeCharacters: spec.rules"
				ofRoute = []string{at + "[0].filters[1]." + test.want + out, at + "[1].backendRefs[0].filters[1]." + test.want + out}
				ofGateway = []string{"g/filters.unsafeCharacters: spec.listeners[1].filters.requests[1]." + test.want + out}
			}
			for _, resource := range []string{httpRoutes, grpcRoutes} {
				a := object.Attributes{Operation: object.Create, Resource: resource}
				if diff := cmp.Diff(ofRoute, sentences(must(p.EvaluateRoute(a, route, nil, nil)))); diff != "" {
					t.Error(resource, diff)
				}
			}
			a := object.Attributes{Operation: object.Create, Resource: "gateways"}
			equal(t, ofGateway, sentences(must(p.EvaluateGateway(a, gateway, nil, nil))))
		})
	}
	// A text that one listener had before does not exempt other listeners.
	old := &object.Gateway{Listeners: []object.Listener{{Name: "a", Filters: []object.RouteFilter{{Texts: []object.FilterText{{Field: "externalAuth", In: "http.path", Index: 0, Value: "/a;"}}}}}}}
	moved := &object.Gateway{Listeners: slices.Clone(old.Listeners)}
	moved.Listeners[0].Name = "b"
	for _, test := range []struct {
		now    *object.Gateway
		denied bool
	}{{old, false}, {moved, true}} {
		found := must(p.EvaluateGateway(object.Attributes{Operation: object.Update, Resource: "gateways"}, test.now, old, nil))
		if len(found) != 1 || found[0].Denies() != test.denied {
			t.Errorf("%v, want denied %t", sentences(found), test.denied)
		}
	}
}

func TestUnsafeCharactersOfSessions(t *testing.T) {
	p := mustLoad(t, "routes: [{name: r, mode: enforce, paths: {unsafeCharacters: deny}}]\n")
	route := &object.Route{Rules: []object.RouteRule{{SessionName: "shop-session"}, {SessionName: "a;b"}}}
	want := []string{`r/paths.unsafeCharacters: spec.rules[1].sessionPersistence.sessionName: "a;b" contains ';', which can inject ` +
		`text into the controller's configuration (CVE-2026-24512); remove it`}
	equal(t, want, sentences(must(p.EvaluateRoute(creatingRoute(""), route, nil, nil))))
}
