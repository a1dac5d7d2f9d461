package policy

import (
	"cmp"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// routePathRules is the paths block of a routes entry. It validates spec.rules[].matches[] of HTTPRoutes and
// GRPCRoutes. The path of a GRPCRoute match is the path of the gRPC call: /service/method, with * for a missing service
// or method, and / if both are missing. A match without a path and a rule without matches have the path / of type
// PathPrefix. The rules compare the text of a path, and not the requests that a prefix or an expression matches: / does
// not contain /admin.
type routePathRules struct {
	// Types lists the types that may be used: [Exact, PathPrefix]. The meaning of RegularExpression depends on the
	// implementation.
	Types []routePathType `yaml:"types"`
	deniedPathRules
	// UnsafeCharacters: deny means that a path must not contain characters that can inject configuration into a
	// controller: quotes, backquotes, backslashes, braces, semicolons, number signs, white space and control characters.
	// The same applies to texts of filters, such as the paths and hosts of URLRewrite and RequestRedirect and the names
	// of headers, and to sessionPersistence.sessionName. The values of headers that filters set, and the names and values
	// of headers and query parameters in matches, must not contain double quotes, backquotes, backslashes or control
	// characters.
	UnsafeCharacters rule.Denial `yaml:"unsafeCharacters"`
}

// routePathType is the type of a match in gateway.networking.k8s.io/v1.
type routePathType string

// UnmarshalText accepts the three types of Gateway API.
func (t *routePathType) UnmarshalText(b []byte) error {
	return rule.ReadWord(t, b, "a path type", "Exact", pathPrefix, "RegularExpression")
}

const pathPrefix = "PathPrefix"

func (p *routePathRules) Validate() error {
	return rejectDeniedPaths(&p.deniedPathRules, p.checks())
}

func (p *routePathRules) checks() []rule.Check[routeView] {
	source := pathSource[routeView]{paths: (*routeView).allPaths, literal: "write type Exact or PathPrefix"}
	checks := pathChecks(source, p.Types, &p.deniedPathRules, p.UnsafeCharacters)
	if p.UnsafeCharacters {
		const id = "paths.unsafeCharacters"
		checks = append(checks, matchesUnsafeCharacters{},
			filtersUnsafeCharacters[routeView]{id, (*routeView).eachFilter}, sessionsUnsafeCharacters{})
	}
	return checks
}

// allPaths returns the path of every match of a route. It returns nil if there are not enough steps left. Only
// HTTPRoutes and GRPCRoutes have paths.
func (route *routeView) allPaths(r *rule.Recorder) []pathPlace {
	kind := routePath
	switch r.Subject.Resource {
	case httpRoutes:
	case grpcRoutes:
		kind = routeMethod
	default:
		return nil
	}
	if route.paths != nil {
		return route.paths
	}
	n := 1
	for i := range route.Rules {
		n += max(1, len(route.Rules[i].Matches))
	}
	route.paths = make([]pathPlace, 0, n)
	every := pathPlace{Path: "/", Type: pathPrefix, kind: kind, rule: -1, match: -1}
	if len(route.Rules) == 0 {
		route.paths = append(route.paths, every)
	}
	for i := range route.Rules {
		matches := route.Rules[i].Matches
		if every.rule = i; len(matches) == 0 && r.Spend(1) {
			route.paths = append(route.paths, every)
		}
		for j := range matches {
			m := &matches[j]
			if !r.Spend(rule.StepsOf(2, m.Path.Value) + rule.StepsOf(2, m.Method.Service) + rule.StepsOf(2, m.Method.Method)) {
				return nil
			}
			place := placeOfMatch(m, kind)
			place.rule, place.match = i, j
			route.paths = append(route.paths, place)
		}
	}
	return route.paths
}

// placeOfMatch returns the path and the type of a match.
func placeOfMatch(m *object.RouteMatch, kind pathKind) pathPlace {
	switch {
	case kind == routePath:
		return pathPlace{Path: cmp.Or(m.Path.Value, "/"), Type: cmp.Or(m.Path.Type, pathPrefix), kind: kind}
	case m.Method.Service == "" && m.Method.Method == "":
		return pathPlace{Path: "/", Type: cmp.Or(m.Method.Type, pathPrefix), kind: kind}
	default:
		path := "/" + cmp.Or(m.Method.Service, "*") + "/" + cmp.Or(m.Method.Method, "*")
		return pathPlace{Path: path, Type: cmp.Or(m.Method.Type, "Exact"), kind: kind}
	}
}
