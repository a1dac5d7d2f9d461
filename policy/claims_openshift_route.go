package policy

import (
	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// openShiftHost returns the field for the host of a Route.
func openShiftHost() claimField { return claimField{path: "spec.host", class: mainField} }

// openShiftSubdomain returns the field for the subdomain of a Route without a host.
func openShiftSubdomain() claimField {
	return claimField{
		path: "spec.subdomain", class: mainField,
		every: "%s is below the domain of each router, which means every host", setOne: "; set spec.host instead",
	}
}

// claimsOfOpenShiftRoute returns the claims of an OpenShift Route. They are in its host and its annotations. If the host
// is empty, its subdomain is used instead. domains are the domains below which routers serve subdomains. The list is
// empty if the domains are unknown. claimsOfOpenShiftRoute returns nil if the Effort is exceeded.
func claimsOfOpenShiftRoute(
	route *object.OpenShiftRoute, domains []string, known *knownAnnotations, r *rule.Recorder,
) []hostClaim {
	if !r.Spend(rule.StepsOf(2, route.Host) + rule.StepsOf(1+len(domains), route.Subdomain)) {
		return nil
	}
	claims := openShiftHostClaims(route)
	if route.Host == "" && route.Subdomain != "" {
		claims = openShiftSubdomainClaims(route.Subdomain, domains)
	}
	return known.claims("Route", &route.Meta, claims, r)
}

// openShiftHostClaims returns the claims of spec.host. If wildcardPolicy is Subdomain, the router serves all hosts one label
// below the parent of the host (openshift/router, pkg/router/template/util/util.go). The host itself is one of them. A
// wildcardPolicy that the API does not define may mean None or Subdomain, so the result contains the claims for both.
func openShiftHostClaims(route *object.OpenShiftRoute) []hostClaim {
	at := claimPlace{in: openShiftHost}
	if route.Host == "" {
		return []hostClaim{claimOf(match.EveryHost(), at)}
	}
	host := host.OneLabel(route.Host)
	wide := match.HostPattern{Name: match.ParentHost(host.Name), Depth: match.OneLabelBelow}
	switch {
	case host.Depth != match.HostItself, wide.Name == "" && route.WildcardPolicy == wildcardSubdomain:
		at.unreadable, at.text = true, route.Host
		return []hostClaim{claimOf(match.EveryHost(), at)}
	case route.WildcardPolicy == "", route.WildcardPolicy == "None":
		return []hostClaim{claimOf(host, at)}
	case route.WildcardPolicy == wildcardSubdomain:
		return []hostClaim{claimOf(wide, at)}
	default:
		return []hostClaim{claimOf(host, at), claimOf(wide, at)}
	}
}

const wildcardSubdomain = "Subdomain"

// openShiftSubdomainClaims returns the claims of spec.subdomain, one below the domain of each router. If the domains are unknown
// or a resulting host is not a valid name, the claim is every host.
func openShiftSubdomainClaims(subdomain string, domains []string) []hostClaim {
	at := claimPlace{in: openShiftSubdomain}
	if len(domains) == 0 {
		at.unreadable, at.text = true, subdomain
		return []hostClaim{claimOf(match.EveryHost(), at)}
	}
	claims := make([]hostClaim, len(domains))
	for i, domain := range domains {
		claims[i] = claimOf(host.OneLabel(subdomain+"."+domain), at)
		if claims[i].Depth != match.HostItself {
			at.unreadable, at.text = true, subdomain
			return []hostClaim{claimOf(match.EveryHost(), at)}
		}
	}
	return claims
}
