package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// openShiftRouteView is an OpenShift Route and the values that its checks parse.
type openShiftRouteView struct {
	*object.OpenShiftRoute
	view
	claimed claim.Set      // see routerDomains.claims
	below   *routerDomains // the domains for which claimed was computed
	paths   []pathPlace    // see allPaths
}

func viewOpenShiftRoute(route *object.OpenShiftRoute) openShiftRouteView {
	return openShiftRouteView{OpenShiftRoute: route}
}

func openShiftRouteRules(b *blocks, c *compilation) rules[object.OpenShiftRoute] {
	return rulesOf(b.Routes, c, viewOpenShiftRoute, (*routesEntry).openShiftRule, nil,
		openShiftOwners(c.owners, b.Routes)...)
}

// openShiftRule compiles the entry for OpenShift Routes. The fields parents, filters, paths.types and
// backends.crossNamespace do not apply to them. An OpenShift Route has neither parents nor filters, its path is always
// a prefix, and its backends are in its namespace. If the entry has no other checks, the returned rule is off.
func (e *routesEntry) openShiftRule() rule.Rule[openShiftRouteView] {
	h, checks := e.RuleHeader, e.openShiftChecks()
	h.LimitTo(text.Plain(e.Kinds))
	if len(checks) == 0 {
		h.Mode = Off
	}
	return rule.New(h, checks)
}

func (e *routesEntry) openShiftChecks() []rule.Check[openShiftRouteView] {
	var checks []rule.Check[openShiftRouteView]
	if e.Hosts != nil {
		domains := newRouterDomains(e.SubdomainDomains)
		checks = claim.FieldChecks(&e.Hosts.FieldHostRules, domains.claims, "spec.host")
	}
	if e.Paths != nil {
		source := pathSource[openShiftRouteView]{paths: (*openShiftRouteView).allPaths}
		checks = append(checks, pathChecks[openShiftRouteView, routePathType](
			source, nil, &e.Paths.deniedPathRules, e.Paths.UnsafeCharacters)...)
	}
	if e.Backends != nil && e.Backends.Kinds != nil {
		checks = append(checks, openShiftBackends{e.Backends.Kinds, rule.Passing(e.Backends.Kinds)})
	}
	return slices.Concat(checks, annotationChecks[openShiftRouteView](e.Annotations))
}

// openShiftOwners returns the rules that check the owners of hosts in OpenShift Routes. The domains of routers come
// from the subdomainDomains of routes entries. An entry in a weaker mode does not provide domains for owners in a
// stricter mode.
func openShiftOwners(levels claim.Owners, entries []routesEntry) []rule.Rule[openShiftRouteView] {
	var rules []rule.Rule[openShiftRouteView]
	for i := range levels {
		var all []routerDomain
		for j := range entries {
			if e := &entries[j]; e.Mode >= levels[i].Mode {
				all = append(all, e.SubdomainDomains...)
			}
		}
		rules = append(rules, claim.OwnerRules(levels[i:i+1], newRouterDomains(all).claims)...)
	}
	return rules
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

// routerDomains contains the domains below which routers serve hosts. It is empty if the domains are unknown.
type routerDomains struct{ names []string }

func newRouterDomains(list []routerDomain) *routerDomains {
	names := text.Plain(list)
	slices.Sort(names)
	return &routerDomains{slices.Compact(names)}
}

// claims returns the claims of a Route. They are in its host and its annotations. If the host is empty, its subdomain
// is used instead.
func (d *routerDomains) claims(route *openShiftRouteView, r *rule.Recorder) *claim.Set {
	below := route.Host == "" && route.Subdomain != ""
	if route.claimed.List != nil && (!below || route.below == d) {
		return &route.claimed
	}
	route.claimed, route.below = claim.Set{}, d
	route.claimed.List = claim.OfOpenShiftRoute(route.OpenShiftRoute, d.names, route.known, r)
	return &route.claimed
}

// allPaths returns the path of a Route, which is a prefix. An absent path means /.
func (route *openShiftRouteView) allPaths(r *rule.Recorder) []pathPlace {
	if route.paths == nil && r.Spend(rule.StepsOf(2, route.Path)) {
		host := match.HostPattern{Name: cmp.Or(route.Host, route.Subdomain)}
		route.paths = []pathPlace{{Path: cmp.Or(route.Path, "/"), Type: pathPrefix, host: host, kind: openShiftPath}}
	}
	return route.paths
}

// openShiftBackends is backends.kinds for OpenShift Routes. It finds each kind in spec.to and spec.alternateBackends
// that no pattern matches. An absent kind means Service.
type openShiftBackends struct {
	kinds   []match.Glob
	passing string // the end of its sentences
}

func (c openShiftBackends) Find(route *openShiftRouteView, r *rule.Recorder) {
	for i, kind := range route.Backends {
		kind = cmp.Or(kind, "Service")
		if !r.Spend(rule.StepsOf(1+len(c.kinds), kind)) {
			return
		}
		if match.AnyGlob(c.kinds, kind) {
			continue
		}
		if f := r.TryAdd(rule.Identity{Check: "backends.kinds", Value: kind}); f != nil {
			f.Path, f.Reason = "spec.to.kind", text.Quote(kind)+" is not allowed"+c.passing
			if i > 0 {
				f.Path = elementPath("spec.alternateBackends", int32(i-1)) + ".kind"
			}
		}
	}
}
