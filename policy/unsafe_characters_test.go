package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a controller writes into an expression or a configuration does not end there.
func TestUnsafeCharacters(t *testing.T) {
	p := mustLoad(t, "ingresses: [{name: i, mode: enforce, paths: {unsafeCharacters: deny}}]\n"+
		"routes: [{name: r, mode: enforce, paths: {unsafeCharacters: deny}}]\n")
	const out = ", which can get out into the controller's configuration (CVE-2026-24512); leave it out"
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
	// A text that was there before denies no update.
	if found := must(p.EvaluateRoute(Attributes{Operation: Update, Resource: "httproutes"}, route, route, nil)); len(found) != 6 || found[1].Denies() {
		t.Error(sentences(found))
	}
}
