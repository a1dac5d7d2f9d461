package policy

import (
	"slices"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

func (h *routeHostRules) checks() []rule.Check[routeView] {
	switch {
	case h == nil:
		return nil
	case h.MeshHosts:
		return fieldHostChecks(&h.fieldHostRules, (*routeView).claimsInMesh, "spec.hostnames")
	default:
		return fieldHostChecks(&h.fieldHostRules, (*routeView).claims, "spec.hostnames")
	}
}

// isMesh reports whether a route has only Services as parents, and at least one.
func (route *routeView) isMesh() bool {
	return len(route.Parents) > 0 && !route.attachesByDefault() &&
		!slices.ContainsFunc(route.Parents, func(p object.RouteParent) bool { return !isServiceParent(p) })
}

// claims returns the claims of a route's annotations and hostnames. It omits the hostnames of a route that belongs to a
// mesh.
func (route *routeView) claims(r *rule.Recorder) *claimSet {
	route.findClaims(r)
	return &route.claimed
}

// claimsInMesh returns the claims of a route's annotations and hostnames, also if the route belongs to a mesh.
func (route *routeView) claimsInMesh(r *rule.Recorder) *claimSet {
	route.findClaims(r)
	return &route.claimedInMesh
}

// findClaims fills claimed and claimedInMesh.
func (route *routeView) findClaims(r *rule.Recorder) {
	if route.claimedInMesh.list == nil {
		kind := routeKind(r.Subject.Resource).String()
		route.claimed.list, route.claimedInMesh.list = claimsOfRoute(route.Route, kind, route.isMesh(), route.known, r)
	}
}
