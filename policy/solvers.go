package policy

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// solverAccounts is the solverAccounts block of a policy: the users that create the solvers of ACME challenges
// (HTTP-01). Evergate recognises a solver by two facts together: one of these users writes it, and it has the shape of
// a solver, which can only answer challenges. A tenant can copy the shape, but not the user.
//
// cert-manager creates a solver before the certificate exists. A solver has no TLS, no choice of path types and no
// annotations of the platform, so the rules about these fields cannot apply to it:
//
//   - of an Ingress: tls, classNames, paths and annotations.required;
//   - of a Service: types, ports, nodePorts and annotations.required;
//   - of a route: paths, annotations.required and the sectionName in parents.allowed.
//
// No rule evaluates the annotations that cert-manager itself adds (see addedToSolver). All other rules apply, including
// hosts and owners, because the tenant that answers the challenge for a host gets a certificate for it. An Issuer can
// add annotations to solvers, and tenants can create Issuers.
type solverAccounts []solverAccount

// solverAccount is the name of a user, as the API server writes it.
type solverAccount string

// defaultSolverAccount is the service account of cert-manager in a default installation.
const defaultSolverAccount = "system:serviceaccount:cert-manager:cert-manager"

// maxSolverAccounts is how many accounts may be listed. A cluster usually runs one cert-manager, or a few.
const maxSolverAccounts = 20

// UnmarshalText rejects patterns, because a wide pattern would exempt the Ingresses of tenants.
func (a *solverAccount) UnmarshalText(b []byte) error {
	if len(b) == 0 || strings.Contains(string(b), "*") {
		return fmt.Errorf("%s is not the name of one user: write it out, as in %s", text.Quote(b), defaultSolverAccount)
	}
	*a = solverAccount(b)
	if err := match.CheckUser(match.Glob(b)); err != nil {
		return err
	}
	return match.RejectUnprintable(b, "user")
}

// validate returns an error for too many accounts.
func (a solverAccounts) validate() error {
	if len(a) > maxSolverAccounts {
		return strict.Fieldf("solverAccounts", "has %d users; at most %d are read", len(a), maxSolverAccounts)
	}
	return nil
}

// SolverAccounts returns the users that create solvers. listed is the list in the policy, or nil if the policy does not
// have a list. The default for nil is cert-manager's service account.
func SolverAccounts(listed []string) []string {
	if listed == nil {
		return []string{defaultSolverAccount}
	}
	return listed
}

// with returns the users of a and of another document. An empty list stays an empty list.
func (a solverAccounts) with(more solverAccounts) solverAccounts {
	if more == nil {
		return a
	}
	return append(append(solverAccounts{}, a...), more...)
}

func (a solverAccounts) users() []string {
	if a == nil {
		return SolverAccounts(nil)
	}
	return text.Plain(a)
}

// SolverAnnotations returns the annotations that cert-manager adds to the solvers that it creates
// (v1.21.2, pkg/issuer/acme/http/ingress.go and service.go), with their values.
func SolverAnnotations() map[string]string {
	return map[string]string{
		claim.IngressNginxPrefix + "/whitelist-source-range": "0.0.0.0/0,::/0",
		"auth.istio.io/8089": "NONE",
	}
}

// addedToSolver reports whether cert-manager itself adds an annotation to solvers.
func addedToSolver(key, value string) bool {
	added, ok := SolverAnnotations()[key]
	return ok && added == value
}

const (
	// solverLabel is the label that cert-manager sets on every object that it creates for an HTTP-01 challenge
	// (cert-manager v1.21.2, pkg/issuer/acme/http/pod.go).
	solverLabel = "acme.cert-manager.io/http01-solver"
	// challengePath is the path from which a certificate authority reads the answer to a challenge (RFC 8555, 8.3).
	challengePath = "/.well-known/acme-challenge/"
)

// solverPort is the port of a solver's Service. The Service has one port, and one of two types (v1.21.2,
// pkg/issuer/acme/http/service.go).
const solverPort = 8089

// unlessSolver runs a check on objects other than solvers.
type unlessSolver[T any, P kindView[T]] struct{ rule.Check[T] }

func (c unlessSolver[T, P]) Find(obj *T, r *rule.Recorder) {
	if !P(obj).base().solver {
		c.Check.Find(obj, r)
	}
}

// unlessSolvers returns checks that do not apply to solvers.
func unlessSolvers[T any, P kindView[T]](checks []rule.Check[T]) []rule.Check[T] {
	all := make([]rule.Check[T], len(checks))
	for i, c := range checks {
		all[i] = unlessSolver[T, P]{c}
	}
	return all
}

func hasSolverLabel(m *object.Meta) bool { return m.Labels[solverLabel] == "true" }

// answersChallenges reports whether an Ingress can only answer ACME challenges: it has cert-manager's label, no TLS, no
// default backend, and only paths below challengePath.
func (ing *ingressView) answersChallenges(r *rule.Recorder) bool {
	if !hasSolverLabel(&ing.Meta) || ing.DefaultBackend != nil || len(ing.TLS) > 0 || len(ing.Rules) == 0 {
		return false
	}
	for i := range ing.Rules {
		if !r.Spend(1+len(ing.Rules[i].Paths)) || len(ing.Rules[i].Paths) == 0 {
			return false
		}
		for _, p := range ing.Rules[i].Paths {
			if !isChallenge(p.Path) {
				return false
			}
		}
	}
	return true
}

// answersChallenges reports whether a route can only answer ACME challenges: it has cert-manager's label, and each
// match is an exact path below challengePath.
func (route *routeView) answersChallenges(r *rule.Recorder) bool {
	if !hasSolverLabel(&route.Meta) || len(route.Rules) == 0 {
		return false
	}
	for i := range route.Rules {
		matches := route.Rules[i].Matches
		if !r.Spend(1+len(matches)) || len(matches) == 0 {
			return false
		}
		for _, m := range matches {
			if m.Path.Type != "Exact" || !isChallenge(m.Path.Value) {
				return false
			}
		}
	}
	return true
}

// answersChallenges reports whether a Service has the shape that cert-manager gives to the Service of a solver: its
// label, only the port of the solver, and the type ClusterIP or NodePort.
func (svc *serviceView) answersChallenges(*rule.Recorder) bool {
	t := svc.effectiveType()
	return hasSolverLabel(&svc.Meta) && (t == clusterIP || t == nodePort) &&
		len(svc.Ports) == 1 && svc.Ports[0].Port == solverPort
}

// isChallenge reports whether a path answers one challenge: challengePath followed by a base64url token.
func isChallenge(path string) bool {
	token, ok := strings.CutPrefix(path, challengePath)
	return ok && token != "" && match.IsAlphanumeric(token, "-_")
}

// isSolver reports whether owners exempt an Ingress in a shared gateway namespace. The Ingress must serve only ACME
// challenges, and its annotations must not claim a host, because a solver does not claim a DNS record.
//
// These conditions do not prove that cert-manager created the Ingress. Anyone who can create Ingresses in a shared
// gateway namespace can answer the challenges for any host there, and so obtain a certificate for it. The namespace is
// the reason for the exemption. The conditions only keep ordinary Ingresses from being exempt.
func (ing *ingressView) isSolver(r *rule.Recorder) bool {
	return ing.answersChallenges(r) && !ing.claims(r).InAnnotations(r)
}

// servesNoHost reports whether owners exempt a route in a shared gateway namespace. This is the case for solvers, as
// for an Ingress, and for routes that only redirect to HTTPS, which are usually routes for every host.
func (route *routeView) servesNoHost(r *rule.Recorder) bool {
	return (route.answersChallenges(r) || route.redirectsToHTTPS(r)) && !route.claims(r).InAnnotations(r)
}

// redirectsToHTTPS reports whether each rule of an HTTPRoute only redirects requests to https on the same host and
// path. Such a rule has no backends. Its only filter is a RequestRedirect, and https is the only text in the filter.
func (route *routeView) redirectsToHTTPS(r *rule.Recorder) bool {
	toHTTPS := object.FilterText{Field: "requestRedirect", In: "scheme", Value: "https"}
	for i := range route.Rules {
		of := &route.Rules[i]
		if !r.Spend(1) || len(of.Backends) > 0 || len(of.Filters) != 1 {
			return false
		}
		f := &of.Filters[0]
		if f.Type != "RequestRedirect" || f.Mirror != nil || f.Auth != nil || f.Extension != nil ||
			len(f.Texts) != 1 || f.Texts[0] != toHTTPS {
			return false
		}
	}
	return len(route.Rules) > 0 && r.Subject.Resource == httpRoutes
}
