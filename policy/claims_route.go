package policy

import (
	"slices"

	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// hostname returns the field of an element of spec.hostnames.
func hostname() claimField { return claimField{path: "spec.hostnames[%d]", class: mainField} }

// noHostnames returns the field spec.hostnames of a route without hostnames.
func noHostnames() claimField { return claimField{path: "spec.hostnames", class: mainField} }

// claimsOfRoute returns the claims of a route's annotations and hostnames. kind is the kind of the route. If mesh is
// true, the route belongs to a mesh, and claims does not include the hostnames. inMesh always includes them. Routes
// without the field spec.hostnames do not make any claims by it. claimsOfRoute returns nil if the Effort is exceeded,
// and otherwise an inMesh that is not nil.
func claimsOfRoute(
	route *object.Route, kind string, mesh bool, known *knownAnnotations, r *rule.Recorder,
) (claims, inMesh []hostClaim) {
	var hosts []hostClaim
	switch kind {
	case "HTTPRoute", "GRPCRoute", "TLSRoute":
		if hosts = hostnames(route.Hostnames, r); hosts == nil {
			return nil, nil
		}
	}
	if !mesh {
		claims = known.claims(kind, &route.Meta, hosts, r)
		inMesh = claims
	} else {
		claims = known.claims(kind, &route.Meta, nil, r)
		inMesh = slices.Concat(claims, hosts)
	}
	if inMesh == nil {
		inMesh = []hostClaim{}
	}
	return claims, inMesh
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
