package claim

import (
	"errors"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// SharedNamespaces is the sharedGatewayNamespaces block of a policy, for example ["gateways", "infra-*"], * for any run
// of characters. The Gateways and ListenerSets of these namespaces serve hosts of other namespaces. In these
// namespaces, the owners block exempts Gateways, ListenerSets, Certificates (which cert-manager creates for listeners),
// the solvers of ACME challenges, and HTTPRoutes that only redirect to HTTPS: see isSolver and servesNoHost in package
// policy. Rules about hosts apply there as everywhere.
//
// cert-manager answers challenges in the namespace of the Certificate. For the listeners of a Gateway, this is the
// namespace of the Gateway. If a tenant orders certificates in its own namespace, the solver runs there and serves a
// host of the tenant.
type SharedNamespaces []sharedNamespace

// sharedNamespace is a pattern for namespace names.
type sharedNamespace match.Glob

// UnmarshalText returns an error for a pattern that cannot match any namespace name, and for *, which would exempt
// every Gateway from owners.
func (n *sharedNamespace) UnmarshalText(b []byte) error {
	var g match.Glob
	if err := g.UnmarshalText(b); err != nil {
		return err
	}
	if strings.Trim(string(g), "*") == "" {
		return errors.New(`"*" matches every namespace, so Gateways could take the hosts of all owners: ` +
			"list the namespaces of shared Gateways")
	}
	*n = sharedNamespace(g)
	return match.Namespaces().Check(g)
}

// Warnings returns a warning if the policy has no active owners entries, because the block has no other effect. at is
// the position of the document, and owners is the number of owners entries that are not off.
func (c SharedNamespaces) Warnings(at strict.Pos, owners int) strict.Errors {
	if len(c) == 0 || owners > 0 {
		return nil
	}
	at.Path = "sharedGatewayNamespaces"
	return strict.Errors{at.Errorf("has no effect, because no owners entry is active: " +
		"these namespaces are exempt only from owners; write owners, or leave sharedGatewayNamespaces out")}
}

// include reports whether the object is in a shared gateway namespace. It is false if the Effort is exceeded.
func (c SharedNamespaces) include(r *rule.Recorder) bool {
	namespace := r.Subject.Namespace
	if namespace == "" || !r.Spend(rule.StepsOf(len(c), namespace)) {
		return false
	}
	for _, n := range c {
		if match.Glob(n).Match(namespace) {
			return true
		}
	}
	return false
}

// Unless returns the claims to which owners apply. In a shared gateway namespace, an exempt object does not have any. A
// nil exempt exempts every object.
func Unless[T any](c SharedNamespaces, claims Claimant[T], exempt func(*T, *rule.Recorder) bool) Claimant[T] {
	if len(c) == 0 {
		return claims
	}
	return func(obj *T, r *rule.Recorder) *Set {
		if c.include(r) && (exempt == nil || exempt(obj, r)) {
			return new(Set)
		}
		return claims(obj, r)
	}
}

// InAnnotations reports whether an annotation makes one of the claims. It is true if the Effort is exceeded.
func (c *Set) InAnnotations(r *rule.Recorder) bool {
	return !r.Spend(1+len(c.List)/rule.StepBytes) ||
		slices.ContainsFunc(c.List, func(h Claim) bool { return h.at.in().class == annotationField })
}
