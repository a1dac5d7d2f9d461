package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// OpenShiftRoute is the part of a route.openshift.io/v1 Route that decisions depend on.
type OpenShiftRoute struct {
	Meta
	Host      string // empty where the server sets none, and then each router decides
	Subdomain string // counts while Host is empty: each router serves the host below a domain of its own
	// WildcardPolicy is None or Subdomain, by which the Route serves all hosts one label below the parent of Host, and not
	// Host alone; empty means None.
	WildcardPolicy string
	Path           string // a prefix; empty for every path
	// Backends are the kinds of spec.to and of spec.alternateBackends; an empty one is Service.
	Backends []string
}

// openShiftRouteView is a Route of OpenShift and the values that its checks parse.
type openShiftRouteView struct {
	*OpenShiftRoute
	view
	claimed claimSet       // see routerDomains.claims
	below   *routerDomains // the domains that claimed is computed for
	paths   []pathPlace    // see allPaths
}

func viewOpenShiftRoute(route *OpenShiftRoute) openShiftRouteView {
	return openShiftRouteView{OpenShiftRoute: route}
}

// openShiftRouteRules compiles the rules for Routes of OpenShift.
func openShiftRouteRules(b *blocks, c *compilation) rules {
	return rulesOf(b.Routes, c, (*routesEntry).openShiftRule, openShiftOwners(c.owners, b.Routes)...)
}

// EvaluateOpenShiftRoute evaluates a Route of OpenShift. old is the Route before an update, nil otherwise.
func (p *Policy) EvaluateOpenShiftRoute(a Attributes, route, old *OpenShiftRoute, e *Effort) ([]Finding, error) {
	return evaluate(rulesFor[openShiftRouteView](p, OpenShiftRoutes), a, viewOpenShiftRoute, route, old, e)
}

// ExplainOpenShiftRoute returns for every routes rule that checks something of a Route whether it applies to the Route.
func (p *Policy) ExplainOpenShiftRoute(a Attributes, route *OpenShiftRoute) []RuleTrace {
	return explain(rulesFor[openShiftRouteView](p, OpenShiftRoutes), a, viewOpenShiftRoute, route)
}

// openShiftRule compiles the entry for Routes of OpenShift, of which parents and filters check nothing, nor do
// paths.types and backends.crossNamespace: a path is a prefix, and a backend is in the namespace of its Route. An entry
// that checks nothing of a Route is off for it.
func (e *routesEntry) openShiftRule() rule[openShiftRouteView] {
	h, checks := e.ruleHeader, e.openShiftChecks()
	h.resources = textsOf(e.Kinds)
	if len(checks) == 0 {
		h.Mode = Off
	}
	return rule[openShiftRouteView]{h, checks}
}

func (e *routesEntry) openShiftChecks() []check[openShiftRouteView] {
	var checks []check[openShiftRouteView]
	if e.Hosts != nil {
		domains := newRouterDomains(e.SubdomainDomains)
		checks = fieldHostChecks(&e.Hosts.fieldHostRules, domains.claims, "spec.host")
	}
	if e.Paths != nil {
		source := pathSource[openShiftRouteView]{paths: (*openShiftRouteView).allPaths}
		if e.Paths.Denied != nil {
			checks = append(checks, pathsDenied[openShiftRouteView]{source, e.Paths.Denied})
		}
		if e.Paths.DeniedPatterns != nil {
			checks = append(checks, pathsDeniedPatterns[openShiftRouteView]{source, e.Paths.DeniedPatterns})
		}
		if e.Paths.UnsafeCharacters {
			checks = append(checks, pathsUnsafeCharacters[openShiftRouteView]{source})
		}
	}
	if e.Backends != nil && e.Backends.Kinds != nil {
		checks = append(checks, openShiftBackends{e.Backends.Kinds, passing(e.Backends.Kinds)})
	}
	return slices.Concat(checks, annotationChecks[openShiftRouteView](e.Annotations))
}

// openShiftOwners returns the rules by which owners judge Routes of OpenShift. The domains of routers are those that
// entries of routes name, of which one in a weaker mode says nothing to owners in a stricter one.
func openShiftOwners(levels []ownerLevel, entries []routesEntry) []rule[openShiftRouteView] {
	var rules []rule[openShiftRouteView]
	for i := range levels {
		var all []routerDomain
		for j := range entries {
			if e := &entries[j]; e.Mode >= levels[i].mode {
				all = append(all, e.SubdomainDomains...)
			}
		}
		rules = append(rules, ownerRules(levels[i:i+1], newRouterDomains(all).claims)...)
	}
	return rules
}

// openShiftHost is the host of a Route.
func openShiftHost() claimField { return claimField{path: "spec.host", class: mainField} }

// openShiftSubdomain is the subdomain of a Route without a host.
func openShiftSubdomain() claimField {
	return claimField{
		path: "spec.subdomain", class: mainField,
		every: "%s is below the domain of each router, which means every host", setOne: "; set spec.host instead",
	}
}

// routerDomain is a domain below which a router serves hosts.
type routerDomain string

// UnmarshalText accepts the name of a domain, without wildcards.
func (d *routerDomain) UnmarshalText(b []byte) error {
	p := match.ParseHost(string(b))
	if err := match.CheckHostName(p.Name); p.Depth != match.HostItself || err != nil {
		return fmt.Errorf("%s is not the domain of a router: write its name without wildcards, as in apps.example.com",
			text.Quote(b))
	}
	*d = routerDomain(p.Name)
	return nil
}

// routerDomains are the domains below which routers serve hosts; none where they are not known.
type routerDomains struct{ names []string }

// newRouterDomains returns the domains of a list, each once.
func newRouterDomains(list []routerDomain) *routerDomains {
	names := textsOf(list)
	slices.Sort(names)
	return &routerDomains{slices.Compact(names)}
}

// claims returns the claims of a Route: of its host or, where that is empty, of its subdomain, and of its annotations.
func (d *routerDomains) claims(route *openShiftRouteView, r *report) *claimSet {
	below := route.Host == "" && route.Subdomain != ""
	if route.claimed.list != nil && (!below || route.below == d) {
		return &route.claimed
	}
	route.claimed, route.below = claimSet{}, d
	if !r.spend(stepsOf(2, route.Host) + stepsOf(1+len(d.names), route.Subdomain)) {
		return &route.claimed
	}
	claims := route.hostClaims()
	if below {
		claims = d.subdomainClaims(route.Subdomain)
	}
	route.claimed.list = route.annotationClaims("Route", &route.Meta, claims, r)
	return &route.claimed
}

// hostClaims returns the claims of spec.host. The router serves *. of its parent where wildcardPolicy is Subdomain
// (openshift/router, pkg/router/template/util/util.go), and then the host for no other reason than that it is below it.
// A value that the API does not have may mean either.
func (route *OpenShiftRoute) hostClaims() []hostClaim {
	at := claimPlace{in: openShiftHost}
	if route.Host == "" {
		return []hostClaim{claimOf(match.EveryHost(), at)}
	}
	host := oneLabel(route.Host)
	wide := match.HostPattern{Name: match.ParentHost(host.Name), Depth: match.OneLabelBelow}
	switch {
	case host.Depth != match.HostItself, wide.Name == "" && route.WildcardPolicy == wildcardSubdomain:
		at.unreadable, at.text = true, route.Host
		return []hostClaim{claimOf(match.EveryHost(), at)}
	case route.WildcardPolicy == "", route.WildcardPolicy == "None":
		return []hostClaim{claimOf(host, at)}
	case route.WildcardPolicy == wildcardSubdomain:
		return []hostClaim{claimOf(wide, at)}
	default:
		return []hostClaim{claimOf(host, at), claimOf(wide, at)}
	}
}

const wildcardSubdomain = "Subdomain"

// subdomainClaims returns the claims of spec.subdomain: below the domain of each router, or every host.
func (d *routerDomains) subdomainClaims(subdomain string) []hostClaim {
	at := claimPlace{in: openShiftSubdomain}
	if len(d.names) == 0 {
		at.unreadable, at.text = true, subdomain
		return []hostClaim{claimOf(match.EveryHost(), at)}
	}
	claims := make([]hostClaim, len(d.names))
	for i, domain := range d.names {
		claims[i] = claimOf(oneLabel(subdomain+"."+domain), at)
		if claims[i].Depth != match.HostItself {
			at.unreadable, at.text = true, subdomain
			return []hostClaim{claimOf(match.EveryHost(), at)}
		}
	}
	return claims
}

// allPaths returns the path of a Route, which is a prefix. An absent path is /.
func (route *openShiftRouteView) allPaths(r *report) []pathPlace {
	if route.paths == nil && r.spend(stepsOf(2, route.Path)) {
		route.paths = []pathPlace{{Path: cmp.Or(route.Path, "/"), Type: pathPrefix, kind: openShiftPath}}
	}
	return route.paths
}

// openShiftBackends is backends.kinds for Routes of OpenShift: it finds each kind of spec.to and spec.alternateBackends
// that no pattern matches. An absent kind is Service.
type openShiftBackends struct {
	kinds   []match.Glob
	passing string // the end of its sentences
}

func (c openShiftBackends) find(route *openShiftRouteView, r *report) {
	for i, kind := range route.Backends {
		kind = cmp.Or(kind, "Service")
		if !r.spend(stepsOf(1+len(c.kinds), kind)) {
			return
		}
		if matchesAny(c.kinds, kind) {
			continue
		}
		if f := r.tryAdd(identity{check: "backends.kinds", value: kind}); f != nil {
			f.Path, f.Reason = "spec.to.kind", text.Quote(kind)+" is not allowed"+c.passing
			if i > 0 {
				f.Path = elementPath("spec.alternateBackends", int32(i-1)) + ".kind"
			}
		}
	}
}
