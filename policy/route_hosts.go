package policy

import (
	"errors"
	"slices"

	"github.com/evergate/evergate/policy/internal/match"
)

// routeHostRules is the field hosts of a routes entry. It judges spec.hostnames of HTTPRoutes, GRPCRoutes and
// TLSRoutes, and the annotations by which any route claims hosts. A wildcard in spec.hostnames covers names at any
// depth: *.apps.example passes by **.apps.example and not by *.apps.example. A route without hostnames has every host
// of its listeners. An address in place of a name is compared as a name. A match of a header, Host for one, claims
// nothing here.
//
// A route whose parents are all Services belongs to a mesh, for which Gateway API gives hostnames no meaning: they are
// then no claims, and may be absent.
type routeHostRules struct {
	fieldHostRules
	// MeshHosts: true means that hostnames are claims where all parents are Services too, for meshes that match by them.
	MeshHosts bool `yaml:"meshHosts"`
}

// Validate implements strict.Validator.
func (h *routeHostRules) Validate() error {
	if h.MeshHosts && !h.Required && h.refuseNothing("") != nil {
		return errors.Join(h.faults(), errNoCheck("required, allowed, denied, wildcards or max beside meshHosts"))
	}
	return h.fieldHostRules.Validate()
}

func (h *routeHostRules) checks() []check[routeView] {
	switch {
	case h == nil:
		return nil
	case h.MeshHosts:
		return fieldHostChecks(&h.fieldHostRules, (*routeView).claimsInMesh, "spec.hostnames")
	default:
		return fieldHostChecks(&h.fieldHostRules, (*routeView).claims, "spec.hostnames")
	}
}

// hostname is an element of the hostnames of a route.
func hostname() claimField { return claimField{path: "spec.hostnames[%d]", class: mainField} }

// noHostnames is the hostnames of a route that has none.
func noHostnames() claimField { return claimField{path: "spec.hostnames", class: mainField} }

// isMesh reports whether all parents of a route are Services, of which there is one.
func (route *Route) isMesh() bool {
	return len(route.Parents) > 0 && !route.attachesByDefault() &&
		!slices.ContainsFunc(route.Parents, func(p RouteParent) bool { return !p.isService() })
}

// claims returns the claims of a route: of its hostnames, unless it belongs to a mesh, and of its annotations.
func (route *routeView) claims(r *report) *claimSet {
	route.findClaims(r)
	return &route.claimed
}

// claimsInMesh returns the claims of a route, with the hostnames of a route that belongs to a mesh.
func (route *routeView) claimsInMesh(r *report) *claimSet {
	route.findClaims(r)
	return &route.claimedInMesh
}

// findClaims fills claimed and claimedInMesh.
func (route *routeView) findClaims(r *report) {
	if route.claimedInMesh.list != nil {
		return
	}
	var hosts []hostClaim
	switch r.subject.resource {
	case httpRoutes, grpcRoutes, tlsRoutes:
		if hosts = hostnames(route.Hostnames, r); hosts == nil {
			return
		}
	}
	kind := routeKind(r.subject.resource).String()
	if !route.isMesh() {
		route.claimed.list = route.annotationClaims(kind, &route.Meta, hosts, r)
		route.claimedInMesh.list = route.claimed.list
	} else {
		route.claimed.list = route.annotationClaims(kind, &route.Meta, nil, r)
		route.claimedInMesh.list = slices.Concat(route.claimed.list, hosts)
	}
	if route.claimedInMesh.list == nil { // so that the annotations are read once
		route.claimedInMesh.list = []hostClaim{}
	}
}

// hostnames returns the claims of spec.hostnames; nil if the steps for them are not available.
func hostnames(names []string, r *report) []hostClaim {
	if len(names) == 0 {
		return []hostClaim{claimOf(match.EveryHost(), claimPlace{in: noHostnames})}
	}
	claims := make([]hostClaim, 0, len(names)+1)
	for i, name := range names {
		if !r.spend(stepsOf(1, name)) {
			return nil
		}
		c := claimOfText(name, anyDepth(name), claimPlace{in: hostname, i: int32(i)})
		c.follow(claims)
		claims = append(claims, c)
	}
	return claims
}
