package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// routesEntry is an entry of routes: a rule for Gateway API routes and OpenShift Routes. Each field except kinds and
// subdomainDomains is a block of checks. At least one block is required, and an absent block does not check anything.
// Checks are independent, so several checks can report the same fault.
type routesEntry struct {
	rule.RuleHeader
	// Kinds lists the kinds that the entry applies to: [HTTPRoute, GRPCRoute]. Absent: all kinds. Route is the OpenShift
	// Route.
	Kinds []routeKind `yaml:"kinds"`
	// Hosts: which hosts a route may claim.
	Hosts *claim.RouteHostRules `yaml:"hosts"`
	// Paths: which paths, and which gRPC services and methods, it may match.
	Paths *routePathRules `yaml:"paths"`
	// Parents: which Gateways, ListenerSets and Services it may attach to.
	Parents *routeParentRules `yaml:"parents"`
	// Backends: which objects it may send requests to.
	Backends *backendRules `yaml:"backends"`
	// Filters: which filters it may have.
	Filters *routeFilterRules `yaml:"filters"`
	// Annotations: which annotations it may or must have.
	Annotations *annotationRules `yaml:"annotations"`
	// SubdomainDomains lists the domains of OpenShift routers: [apps.example.com]. A router serves a Route without a host
	// at its subdomain below the router's domain. Absent: a subdomain may be any host. This field does not check anything
	// by itself.
	SubdomainDomains []routerDomain `yaml:"subdomainDomains"`
}

// routeView is a route and the values that its checks parse.
type routeView struct {
	*object.Route
	view
	claimed       claim.Set   // see claims
	claimedInMesh claim.Set   // see claimsInMesh
	paths         []pathPlace // see allPaths
}

func viewRoute(route *object.Route) routeView { return routeView{Route: route} }

func routeRules(b *blocks, c *compilation) rules[object.Route] {
	return rulesOf(b.Routes, c, viewRoute, (*routesEntry).rule, (*routeView).answersChallenges,
		claim.OwnerRules(c.owners, claim.Unless(c.sharedNamespaces, (*routeView).claims, (*routeView).servesNoHost))...)
}

// gatewayGroup is the API group of Gateway API.
const gatewayGroup = "gateway.networking.k8s.io"

// The resources of routes in Attributes.Resource.
const (
	httpRoutes = "httproutes"
	grpcRoutes = "grpcroutes"
	tlsRoutes  = "tlsroutes"
	tcpRoutes  = "tcproutes"
	udpRoutes  = "udproutes"
	// openShiftRoutes is the resource of OpenShift Routes, in route.openshift.io.
	openShiftRoutes = "routes"
)

// routeKind is a kind of route. Its value is the resource of the kind.
type routeKind string

// routeKinds returns the kinds of routes, and their names in manifests.
func routeKinds() [6][2]string {
	return [...][2]string{{httpRoutes, "HTTPRoute"}, {grpcRoutes, "GRPCRoute"}, {tlsRoutes, "TLSRoute"},
		{tcpRoutes, "TCPRoute"}, {udpRoutes, "UDPRoute"}, {openShiftRoutes, "Route"}}
}

// UnmarshalText accepts the route kinds of Gateway API and the OpenShift Route.
func (k *routeKind) UnmarshalText(b []byte) error {
	for _, kind := range routeKinds() {
		if kind[1] == string(b) {
			*k = routeKind(kind[0])
			return nil
		}
	}
	return fmt.Errorf("%s is not a kind of routes: write HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, UDPRoute or Route",
		text.Quote(b))
}

// String returns the kind as it is written in manifests.
func (k routeKind) String() string {
	for _, kind := range routeKinds() {
		if kind[0] == string(k) {
			return kind[1]
		}
	}
	return "Route"
}

func (e *routesEntry) Suggest(field string) []string {
	return rule.ClasslessDimensions().Suggest(field)
}

func (e *routesEntry) Validate() error {
	err := e.Header.ValidateFor(rule.ClasslessDimensions())
	if e.Kinds != nil && len(e.Kinds) == 0 {
		err = errors.Join(err, strict.Fieldf("kinds", "[] does not list any kind, so the entry does not "+
			"apply to any object: leave the field out"))
	}
	err = errors.Join(err, rule.RejectEmpty("subdomainDomains", e.SubdomainDomains))
	return errors.Join(err, rule.RejectNone(e.checks(), "hosts, paths, parents, backends, filters or annotations"))
}

// checks compiles the entry. Findings are in the order of its fields.
func (e *routesEntry) checks() []rule.Check[routeView] {
	return slices.Concat(
		rule.ChecksOf(e.Hosts, routeHostChecks),
		unlessSolvers(rule.ChecksOf(e.Paths, (*routePathRules).checks)),
		rule.ChecksOf(e.Parents, (*routeParentRules).checks),
		backendChecks(e.Backends, (*routeView).eachBackend),
		rule.ChecksOf(e.Filters, (*routeFilterRules).checks),
		annotationChecks[routeView](e.Annotations),
	)
}

// rule compiles the entry. The rule applies only to the kinds of the entry.
func (e *routesEntry) rule() rule.Rule[routeView] {
	h := e.RuleHeader
	h.LimitTo(text.Plain(e.Kinds))
	return rule.New(h, e.checks())
}
