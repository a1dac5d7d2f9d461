package policy

import (
	"errors"
	"slices"

	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// routeHostRules is the hosts block of a routes entry. It validates spec.hostnames of HTTPRoutes, GRPCRoutes and
// TLSRoutes, and the annotations by which a route of any kind claims hosts. A wildcard in spec.hostnames covers names
// at any depth: *.apps.example passes by **.apps.example, but not by *.apps.example. A route without hostnames claims
// every host of its listeners. An IP address is compared like a name. Header matches, for example of Host, are not
// claims.
//
// If all parents of a route are Services, the route belongs to a mesh. Gateway API does not define hostnames for such
// routes. Their hostnames are therefore not claims, and may be absent.
type routeHostRules struct {
	fieldHostRules
	// MeshHosts: true means that hostnames are claims even if all parents are Services. Set it for meshes that match
	// requests by hostnames.
	MeshHosts bool `yaml:"meshHosts"`
}

// Validate implements strict.Validator.
func (h *routeHostRules) Validate() error {
	if h.MeshHosts && !h.Required && h.rejectNothing("") != nil {
		return errors.Join(h.faults(),
			rule.ErrNoCheck("required, allowed, denied, wildcards or max in addition to meshHosts"))
	}
	return h.fieldHostRules.Validate()
}

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

// hostname returns the field of an element of spec.hostnames.
func hostname() claimField { return claimField{path: "spec.hostnames[%d]", class: mainField} }

// noHostnames returns the field spec.hostnames of a route without hostnames.
func noHostnames() claimField { return claimField{path: "spec.hostnames", class: mainField} }

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
	if route.claimedInMesh.list != nil {
		return
	}
	var hosts []hostClaim
	switch r.Subject.Resource {
	case httpRoutes, grpcRoutes, tlsRoutes:
		if hosts = hostnames(route.Hostnames, r); hosts == nil {
			return
		}
	}
	kind := routeKind(r.Subject.Resource).String()
	if !route.isMesh() {
		route.claimed.list = route.annotationClaims(kind, &route.Meta, hosts, r)
		route.claimedInMesh.list = route.claimed.list
	} else {
		route.claimed.list = route.annotationClaims(kind, &route.Meta, nil, r)
		route.claimedInMesh.list = slices.Concat(route.claimed.list, hosts)
	}
	if route.claimedInMesh.list == nil { // a list that is not nil marks the annotations as read
		route.claimedInMesh.list = []hostClaim{}
	}
}

// hostnames returns the claims of spec.hostnames. It returns nil if there are not enough steps left.
func hostnames(names []string, r *rule.Recorder) []hostClaim {
	if len(names) == 0 {
		return []hostClaim{claimOf(match.EveryHost(), claimPlace{in: noHostnames})}
	}
	claims := make([]hostClaim, 0, len(names)+1)
	for i, name := range names {
		if !r.Spend(rule.StepsOf(1, name)) {
			return nil
		}
		c := claimOfText(name, host.AnyDepth(name), claimPlace{in: hostname, i: int32(i)})
		c.follow(claims)
		claims = append(claims, c)
	}
	return claims
}
