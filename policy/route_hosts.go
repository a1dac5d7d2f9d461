package policy

import (
	"slices"

	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

func routeHostChecks(h *claim.RouteHostRules) []rule.Check[routeView] {
	claims := (*routeView).claims
	if h.MeshHosts {
		claims = (*routeView).claimsInMesh
	}
	return claim.FieldChecks(&h.FieldHostRules, claims, "spec.hostnames")
}

// isMesh reports whether a route has only Services as parents, and at least one.
func (route *routeView) isMesh() bool {
	return len(route.Parents) > 0 && !route.attachesByDefault() &&
		!slices.ContainsFunc(route.Parents, func(p object.RouteParent) bool { return !isServiceParent(p) })
}

// claims returns the claims of a route's annotations and hostnames. It omits the hostnames of a route that belongs to a
// mesh.
func (route *routeView) claims(r *rule.Recorder) *claim.Set {
	route.findClaims(r)
	return &route.claimed
}

// claimsInMesh returns the claims of a route's annotations and hostnames, also if the route belongs to a mesh.
func (route *routeView) claimsInMesh(r *rule.Recorder) *claim.Set {
	route.findClaims(r)
	return &route.claimedInMesh
}

func (route *routeView) findClaims(r *rule.Recorder) {
	if route.claimedInMesh.List == nil {
		kind := routeKind(r.Subject.Resource).String()
		route.claimed.List, route.claimedInMesh.List = claim.OfRoute(route.Route, kind, route.isMesh(), route.known, r)
	}
}
