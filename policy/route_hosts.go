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

func (h *routeHostRules) checks() []check[Route] {
	switch {
	case h == nil:
		return nil
	case h.MeshHosts:
		return fieldHostChecks(&h.fieldHostRules, (*report).routeClaimsInMesh, "spec.hostnames")
	default:
		return fieldHostChecks(&h.fieldHostRules, (*report).routeClaims, "spec.hostnames")
	}
}

// isMesh reports whether all parents of a route are Services, of which there is one.
func (route *Route) isMesh() bool {
	return len(route.Parents) > 0 && !route.attachesByDefault() &&
		!slices.ContainsFunc(route.Parents, func(p RouteParent) bool { return !p.isService() })
}

// routeClaims returns the claims of a route: of its hostnames, unless it belongs to a mesh, and of its annotations.
func (r *report) routeClaims(route *Route) []hostClaim {
	all := r.routeClaimsInMesh(route)
	return all[:len(all)-r.meshClaims]
}

// routeClaimsInMesh returns the claims of a route, with the hostnames of one that belongs to a mesh. Those are the last
// ones, and r.meshClaims is their number.
func (r *report) routeClaimsInMesh(route *Route) []hostClaim {
	if r.claims != nil {
		return r.claims
	}
	var hosts []hostClaim
	switch r.subject.resource {
	case httpRoutes, grpcRoutes, tlsRoutes:
		if hosts = r.hostnames(route.Hostnames); hosts == nil {
			return nil
		}
	}
	kind := routeKind(r.subject.resource).String()
	if route.isMesh() {
		r.meshClaims = len(hosts)
		r.claims = append(r.annotationClaims(kind, &route.Meta, nil), hosts...)
	} else {
		r.claims = r.annotationClaims(kind, &route.Meta, hosts)
	}
	if r.claims == nil { // so that the annotations are read once
		r.claims = []hostClaim{}
	}
	return r.claims
}

// hostnames returns the claims of spec.hostnames; nil if the steps for them are not available.
func (r *report) hostnames(names []string) []hostClaim {
	if len(names) == 0 {
		return []hostClaim{claimOf(match.EveryHost(), claimPlace{kind: noHostnames})}
	}
	claims := make([]hostClaim, 0, len(names)+1)
	for i, name := range names {
		if !r.spend(stepsOf(1, name)) {
			return nil
		}
		c := claimOfText(name, anyDepth(name), claimPlace{kind: hostname, i: int32(i)})
		c.follow(claims)
		claims = append(claims, c)
	}
	return claims
}
