package policy

import (
	"errors"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// carriers is the block carriers of a policy: ["gateways", "infra-*"], the namespaces, * for any run of characters,
// whose Gateways and ListenerSets carry the hosts of other namespaces. What they name claims nothing of owners, nor do
// the Certificates of these namespaces, which cert-manager makes for listeners, and the solvers of ACME challenges:
// see isSolver. Rules of hosts apply to all of them as to other objects.
//
// cert-manager answers challenges in the namespace of the Certificate, which for the listeners of a Gateway is that of
// the Gateway. Where a tenant orders certificates in its own namespace, the solver is there, for a host of its own.
type carriers []carrierNamespace

// carrierNamespace is a pattern for the names of namespaces.
type carrierNamespace match.Glob

// UnmarshalText refuses a pattern that no name of a namespace can match, and *, which would switch owners off for all
// Gateways.
func (n *carrierNamespace) UnmarshalText(b []byte) error {
	var g match.Glob
	if err := g.UnmarshalText(b); err != nil {
		return err
	}
	if strings.Trim(string(g), "*") == "" {
		return errors.New(`"*" stands for every namespace, so that Gateways could take the hosts of all owners: ` +
			"write the namespaces of shared Gateways")
	}
	*n = carrierNamespace(g)
	return match.Namespaces().Check(g)
}

// warnings returns a warning where no owners are in force, which are all that carriers are exempt of. at is the
// document.
func (c carriers) warnings(at strict.Pos, in Counts) strict.Errors {
	if len(c) == 0 || in.Owners > 0 {
		return nil
	}
	at.Path = "carriers"
	return strict.Errors{at.Errorf("has no effect, since no owners entry is in force: " +
		"carriers are exempt of owners alone; write owners, or leave carriers out")}
}

// include reports whether the namespace of the object is that of a carrier.
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

// always exempts every object of a kind.
func always[T any](*T, *report) bool { return true }

// claimsUnless returns what objects claim of owners: nothing in the namespace of a carrier, if they are exempt there.
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
	// solverLabel is what cert-manager puts on all that it makes for an HTTP-01 challenge
	// (cert-manager v1.21.2, pkg/issuer/acme/http/pod.go).
	solverLabel = "acme.cert-manager.io/http01-solver"
	// challengePath is where the server of a certificate authority asks for the answer to a challenge (RFC 8555, 8.3).
	challengePath = "/.well-known/acme-challenge/"
)

// isSolver reports whether owners exempt an Ingress in the namespace of a carrier: it can only answer ACME challenges,
// and no annotation of it names a host, since a solver claims no DNS record.
//
// None of that proves that cert-manager made it. Whoever may create Ingresses in a carrier's namespace may answer the
// challenges for any host there, and so get a certificate for it; the exemption is by the namespace, and the rest
// keeps it from letting ordinary Ingresses pass.
func (ing *ingressView) isSolver(r *report) bool {
	return ing.answersChallenges(r) && !ing.claims(r).areInAnnotations(r)
}

// isSolver is the same for a route.
func (route *routeView) isSolver(r *report) bool {
	return route.answersChallenges(r) && !route.claims(r).areInAnnotations(r)
}

// areInAnnotations reports whether an annotation makes one of the claims.
func (c *claimSet) areInAnnotations(r *report) bool {
	return !r.spend(1+len(c.list)/stepBytes) ||
		slices.ContainsFunc(c.list, func(h hostClaim) bool { return h.at.in().class == annotationField })
}
