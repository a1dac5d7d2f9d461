package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// routesEntry is an entry of routes: a rule for routes of Gateway API, and for Routes of OpenShift. Each field below
// but kinds is a block of checks; an absent one checks nothing, and at least one is required. Checks are independent:
// each reports a fault that another one reports too.
type routesEntry struct {
	ruleHeader
	// Kinds lists the kinds that the entry judges: [HTTPRoute, GRPCRoute]. Absent: all of them. Route is that of
	// OpenShift.
	Kinds []routeKind `yaml:"kinds"`
	// Hosts: which hosts a route may claim.
	Hosts *routeHostRules `yaml:"hosts"`
	// Paths: which paths, and which services and methods of gRPC, it may match.
	Paths *routePathRules `yaml:"paths"`
	// Parents: to which Gateways, ListenerSets and Services it may attach.
	Parents *routeParentRules `yaml:"parents"`
	// Backends: to which objects it may send requests.
	Backends *routeBackendRules `yaml:"backends"`
	// Filters: which filters it may have.
	Filters *routeFilterRules `yaml:"filters"`
	// Annotations: which annotations it may or must have.
	Annotations *annotationRules `yaml:"annotations"`
	// SubdomainDomains lists the domains below which routers of OpenShift serve the subdomain of a Route without a host:
	// [apps.example.com]. Absent: a subdomain may be any host. It checks nothing by itself.
	SubdomainDomains []routerDomain `yaml:"subdomainDomains"`
}

// routeView is a route of Gateway API and the values that its checks parse.
type routeView struct {
	*Route
	view
	claimed       claimSet    // see claims
	claimedInMesh claimSet    // see claimsInMesh
	paths         []pathPlace // see allPaths
}

func viewRoute(route *Route) routeView { return routeView{Route: route} }

// routeRules compiles the rules for routes of Gateway API.
func routeRules(b *blocks, c *compilation) rules {
	s := rulesOf(b.Routes, c, (*routesEntry).rule,
		ownerRules(c.owners, claimsUnless(c.carriers, (*routeView).claims, (*routeView).isSolver))...)
	s.isSolver = (*routeView).answersChallenges
	return s
}

// EvaluateRoute evaluates a route of Gateway API. old is the route before an update, nil otherwise.
func (p *Policy) EvaluateRoute(a Attributes, route, old *Route, e *Effort) ([]Finding, error) {
	return evaluate(rulesFor[routeView](p, Routes), a, viewRoute, route, old, e)
}

// ExplainRoute returns for every routes rule whether it applies to the route.
func (p *Policy) ExplainRoute(a Attributes, route *Route) []RuleTrace {
	return explain(rulesFor[routeView](p, Routes), a, viewRoute, route)
}

// gatewayGroup is the group of Gateway API.
const gatewayGroup = "gateway.networking.k8s.io"

// Resources of routes, as Attributes.Resource has them.
const (
	httpRoutes = "httproutes"
	grpcRoutes = "grpcroutes"
	tlsRoutes  = "tlsroutes"
	tcpRoutes  = "tcproutes"
	udpRoutes  = "udproutes"
	// openShiftRoutes are those of route.openshift.io.
	openShiftRoutes = "routes"
)

// routeKind is a kind of routes, as its resource.
type routeKind string

// UnmarshalText accepts the kinds of Gateway API.
func (k *routeKind) UnmarshalText(b []byte) error {
	for _, resource := range []routeKind{httpRoutes, grpcRoutes, tlsRoutes, tcpRoutes, udpRoutes, openShiftRoutes} {
		if resource.String() == string(b) {
			*k = resource
			return nil
		}
	}
	return fmt.Errorf("%s is not a kind of routes: write HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, UDPRoute or Route",
		text.Quote(b))
}

// String returns the kind, as manifests write it.
func (k routeKind) String() string {
	switch k {
	case httpRoutes:
		return "HTTPRoute"
	case grpcRoutes:
		return "GRPCRoute"
	case tlsRoutes:
		return "TLSRoute"
	case tcpRoutes:
		return "TCPRoute"
	case udpRoutes:
		return "UDPRoute"
	default:
		return "Route"
	}
}

// Suggest implements strict.Suggester.
func (e *routesEntry) Suggest(field string) []string { return claimantDimensions().suggest(field) }

// Validate implements strict.Validator.
func (e *routesEntry) Validate() error {
	err := e.header.validate(claimantDimensions())
	if e.Kinds != nil && len(e.Kinds) == 0 {
		err = errors.Join(err, strict.Fieldf("kinds", "[] is no kind, so that the entry judges nothing: leave the field out"))
	}
	err = errors.Join(err, refuseEmpty("subdomainDomains", e.SubdomainDomains))
	switch {
	case e.Annotations != nil && len(annotationChecks[routeView](e.Annotations)) == 0:
		none := errNoCheck("denied, required, values or deniedValues")
		return errors.Join(err, strict.Fieldf("annotations", "%v", none))
	case len(e.checks()) == 0:
		return errors.Join(err, errNoCheck("hosts, paths, parents, backends, filters or annotations"))
	}
	return err
}

// checks compiles the entry. Findings come in the order of its fields.
func (e *routesEntry) checks() []check[routeView] {
	return slices.Concat(
		e.Hosts.checks(),
		unlessSolvers(e.Paths.checks()),
		e.Parents.checks(),
		e.Backends.checks(),
		e.Filters.checks(),
		annotationChecks[routeView](e.Annotations),
	)
}

// rule compiles the entry. What it does not judge is excluded by kind.
func (e *routesEntry) rule() rule[routeView] {
	h := e.ruleHeader
	h.resources = textsOf(e.Kinds)
	return rule[routeView]{h, e.checks()}
}
