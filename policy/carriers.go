package policy

import (
	"errors"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// carriers is the carriers block of a policy, for example ["gateways", "infra-*"]. It lists the shared gateway
// namespaces, * for any run of characters. Their Gateways and ListenerSets serve hosts of other namespaces. In these
// namespaces, the owners block exempts Gateways, ListenerSets, Certificates (which cert-manager creates for listeners),
// and the solvers of ACME challenges: see isSolver. Rules about hosts apply there as everywhere.
//
// cert-manager answers challenges in the namespace of the Certificate. For the listeners of a Gateway, this is the
// namespace of the Gateway. If a tenant orders certificates in its own namespace, the solver runs there and serves a
// host of the tenant.
type carriers []carrierNamespace

// carrierNamespace is a pattern for namespace names.
type carrierNamespace match.Glob

// UnmarshalText returns an error for a pattern that cannot match any namespace name, and for *, which would exempt
// every Gateway from owners.
func (n *carrierNamespace) UnmarshalText(b []byte) error {
	var g match.Glob
	if err := g.UnmarshalText(b); err != nil {
		return err
	}
	if strings.Trim(string(g), "*") == "" {
		return errors.New(`"*" matches every namespace, so Gateways could take the hosts of all owners: ` +
			"list the namespaces of shared Gateways")
	}
	*n = carrierNamespace(g)
	return match.Namespaces().Check(g)
}

// warnings returns a warning if the policy has no active owners entries, because the carriers block has no other
// effect. at is the position of the document.
func (c carriers) warnings(at strict.Pos, in Counts) strict.Errors {
	if len(c) == 0 || in.Owners > 0 {
		return nil
	}
	at.Path = "carriers"
	return strict.Errors{at.Errorf("has no effect, because no owners entry is active: " +
		"carriers are exempt only from owners; write owners, or leave carriers out")}
}

// include reports whether the object is in a shared gateway namespace. It is false if the Effort is exceeded.
func (c carriers) include(r *report) bool {
	namespace := r.subject.namespace
	if namespace == "" || !r.spend(stepsOf(len(c), namespace)) {
		return false
	}
	for _, n := range c {
		if match.Glob(n).Match(namespace) {
			return true
		}
	}
	return false
}

// always exempts every object of its kind.
func always[T any](*T, *report) bool { return true }

// claimsUnless returns the claims to which owners apply. In a shared gateway namespace, an exempt object does not have
// any.
func claimsUnless[T any](c carriers, claims claimant[T], exempt func(*T, *report) bool) claimant[T] {
	if len(c) == 0 {
		return claims
	}
	return func(obj *T, r *report) *claimSet {
		if c.include(r) && exempt(obj, r) {
			return new(claimSet)
		}
		return claims(obj, r)
	}
}

const (
	// solverLabel is the label that cert-manager sets on every object that it creates for an HTTP-01 challenge
	// (cert-manager v1.21.2, pkg/issuer/acme/http/pod.go).
	solverLabel = "acme.cert-manager.io/http01-solver"
	// challengePath is the path from which a certificate authority reads the answer to a challenge (RFC 8555, 8.3).
	challengePath = "/.well-known/acme-challenge/"
)

// isSolver reports whether owners exempt an Ingress in a shared gateway namespace. The Ingress must serve only ACME
// challenges, and its annotations must not claim a host, because a solver does not claim a DNS record.
//
// These conditions do not prove that cert-manager created the Ingress. Anyone who can create Ingresses in a shared
// gateway namespace can answer the challenges for any host there, and so obtain a certificate for it. The namespace is
// the reason for the exemption. The conditions only keep ordinary Ingresses from being exempt.
func (ing *ingressView) isSolver(r *report) bool {
	return ing.answersChallenges(r) && !ing.claims(r).areInAnnotations(r)
}

// isSolver reports the same for a route.
func (route *routeView) isSolver(r *report) bool {
	return route.answersChallenges(r) && !route.claims(r).areInAnnotations(r)
}

// areInAnnotations reports whether an annotation makes one of the claims. It is true if the Effort is exceeded.
func (c *claimSet) areInAnnotations(r *report) bool {
	return !r.spend(1+len(c.list)/stepBytes) ||
		slices.ContainsFunc(c.list, func(h hostClaim) bool { return h.at.in().class == annotationField })
}
