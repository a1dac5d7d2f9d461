package claim

import (
	"slices"

	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// listenerHost is the host of a listener.
func listenerHost() claimField {
	return claimField{path: "spec.listeners[%d].hostname", class: listenerField}
}

// OfGateway returns the claims of a Gateway or a ListenerSet, which its listeners and its annotations make. The * of
// *.example in a listener represents any number of labels. The result is never nil.
//
// The Service that is created for the Gateway gets the annotations in spec.infrastructure. If that field is absent,
// Istio (pilot/pkg/config/kube/gateway/deploymentcontroller.go) puts the Gateway's own annotations on the Service.
// Evergate therefore also evaluates the Gateway's annotations as Service annotations.
func OfGateway(g *object.Gateway, known *Annotations, r *rule.Recorder) []Claim {
	claims := make([]Claim, 0, len(g.Listeners))
	for i := range g.Listeners {
		name, at := g.Listeners[i].Hostname, claimPlace{in: listenerHost, i: int32(i)}
		if !r.Spend(rule.StepsOf(1, name)) {
			break
		}
		c := claimOf(match.EveryHost(), at)
		if name != "" {
			c = claimOfText(name, host.AnyDepth(name), at)
		}
		c.follow(claims)
		claims = append(claims, c)
	}
	service := known.hostTable("Service")
	claims = claimsOf(g.Annotations, annotationHost, claims, r, known.hostTable("Gateway"), service)
	return claimsOf(g.InfrastructureAnnotations, infrastructureHost, claims, r, service)
}

// hostname returns the field of an element of spec.hostnames.
func hostname() claimField { return claimField{path: "spec.hostnames[%d]", class: mainField} }

// noHostnames returns the field spec.hostnames of a route without hostnames.
func noHostnames() claimField { return claimField{path: "spec.hostnames", class: mainField} }

// OfRoute returns the claims of a route's annotations and hostnames. kind is the kind of the route. If mesh is true,
// the route belongs to a mesh, and claims does not include the hostnames. inMesh always includes them. Routes without
// the field spec.hostnames do not make any claims by it. OfRoute returns nil if the Effort is exceeded, and otherwise
// an inMesh that is not nil.
func OfRoute(
	route *object.Route, kind string, mesh bool, known *Annotations, r *rule.Recorder,
) (claims, inMesh []Claim) {
	var hosts []Claim
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
		inMesh = []Claim{}
	}
	return claims, inMesh
}

// hostnames returns the claims of spec.hostnames. It returns nil if there are not enough steps left.
func hostnames(names []string, r *rule.Recorder) []Claim {
	if len(names) == 0 {
		return []Claim{claimOf(match.EveryHost(), claimPlace{in: noHostnames})}
	}
	claims := make([]Claim, 0, len(names)+1)
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

// openShiftHost returns the field for the host of a Route.
func openShiftHost() claimField { return claimField{path: "spec.host", class: mainField} }

// openShiftSubdomain returns the field for the subdomain of a Route without a host.
func openShiftSubdomain() claimField {
	return claimField{
		path: "spec.subdomain", class: mainField,
		every: "%s is below the domain of each router, which means every host", setOne: "; set spec.host instead",
	}
}

// OfOpenShiftRoute returns the claims of an OpenShift Route. They are in its host and its annotations. If the host is
// empty, its subdomain is used instead. domains are the domains below which routers serve subdomains. The list is empty
// if the domains are unknown. OfOpenShiftRoute returns nil if the Effort is exceeded.
func OfOpenShiftRoute(
	route *object.OpenShiftRoute, domains []string, known *Annotations, r *rule.Recorder,
) []Claim {
	if !r.Spend(rule.StepsOf(2, route.Host) + rule.StepsOf(1+len(domains), route.Subdomain)) {
		return nil
	}
	claims := openShiftHostClaims(route)
	if route.Host == "" && route.Subdomain != "" {
		claims = openShiftSubdomainClaims(route.Subdomain, domains)
	}
	return known.claims("Route", &route.Meta, claims, r)
}

// openShiftHostClaims returns the claims of spec.host. If wildcardPolicy is Subdomain, the router serves all hosts one
// label below the parent of the host (openshift/router, pkg/router/template/util/util.go). The host itself is one of
// them. A wildcardPolicy that the API does not define may mean None or Subdomain, so the result contains the claims for
// both.
func openShiftHostClaims(route *object.OpenShiftRoute) []Claim {
	at := claimPlace{in: openShiftHost}
	if route.Host == "" {
		return []Claim{claimOf(match.EveryHost(), at)}
	}
	host := host.OneLabel(route.Host)
	wide := match.HostPattern{Name: match.ParentHost(host.Name), Depth: match.OneLabelBelow}
	switch {
	case host.Depth != match.HostItself, wide.Name == "" && route.WildcardPolicy == wildcardSubdomain:
		at.unreadable, at.text = true, route.Host
		return []Claim{claimOf(match.EveryHost(), at)}
	case route.WildcardPolicy == "", route.WildcardPolicy == "None":
		return []Claim{claimOf(host, at)}
	case route.WildcardPolicy == wildcardSubdomain:
		return []Claim{claimOf(wide, at)}
	default:
		return []Claim{claimOf(host, at), claimOf(wide, at)}
	}
}

const wildcardSubdomain = "Subdomain"

// openShiftSubdomainClaims returns the claims of spec.subdomain, one below the domain of each router. If the domains
// are unknown or a resulting host is not a valid name, the claim is every host.
func openShiftSubdomainClaims(subdomain string, domains []string) []Claim {
	at := claimPlace{in: openShiftSubdomain}
	if len(domains) == 0 {
		at.unreadable, at.text = true, subdomain
		return []Claim{claimOf(match.EveryHost(), at)}
	}
	claims := make([]Claim, len(domains))
	for i, domain := range domains {
		claims[i] = claimOf(host.OneLabel(subdomain+"."+domain), at)
		if claims[i].Depth != match.HostItself {
			at.unreadable, at.text = true, subdomain
			return []Claim{claimOf(match.EveryHost(), at)}
		}
	}
	return claims
}
