package policy

import (
	"errors"
	"slices"

	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// ingressesEntry is an entry of the ingresses block: a rule for Ingresses. Each field below is a block of checks. An
// absent block is not checked, and at least one is required. Checks are independent, so two checks can report the same
// fault. Otherwise, after a fix of only one of two faults, the ratchet could treat the finding about the other as
// introduced.
type ingressesEntry struct {
	rule.RuleHeader
	// Hosts: which hosts an Ingress may claim.
	Hosts *claim.FieldHostRules `yaml:"hosts"`
	// TLS: whether an Ingress must be served over TLS.
	TLS *tlsRules `yaml:"tls"`
	// ClassNames: which Ingress classes are allowed. The class selects the controller that serves the Ingress.
	ClassNames *classNameRules `yaml:"classNames"`
	// Paths: which paths an Ingress may have.
	Paths *pathRules `yaml:"paths"`
	// Annotations: which annotations an Ingress may or must have.
	Annotations *annotationRules `yaml:"annotations"`
	// IngressNginx: checks that apply only to the controller ingress-nginx.
	IngressNginx *ingressNginxRules `yaml:"ingressNginx"`
	// Backends: which Services and ports may receive its requests.
	Backends *ingressBackendRules `yaml:"backends"`
	// DefaultBackend: deny means that spec.defaultBackend must be absent.
	DefaultBackend rule.Denial `yaml:"defaultBackend"`
}

func (e *ingressesEntry) Suggest(field string) []string {
	return rule.IngressDimensions().Suggest(field)
}

func (e *ingressesEntry) Validate() error {
	return errors.Join(e.Header.ValidateFor(rule.IngressDimensions()), rule.RejectNone(e.checks(),
		"hosts, tls, classNames, paths, annotations, ingressNginx, backends or defaultBackend"))
}

// ingressView is an Ingress and the values that its checks parse.
type ingressView struct {
	*object.Ingress
	view
	hosts    []claim.Claim   // see ruleHosts
	claimed  claim.Set       // see claims
	coverage *claim.Coverage // see tlsCoversHosts
	paths    []pathPlace     // see allPaths
	syntax   pathSyntax      // see pathSyntax
}

func viewIngress(ing *object.Ingress) ingressView { return ingressView{Ingress: ing} }

func ingressRules(b *blocks, c *compilation) rules[object.Ingress] {
	return rulesOf(b.Ingresses, c, viewIngress, func(e *ingressesEntry) rule.Rule[ingressView] {
		return rule.New(e.RuleHeader, e.checks())
	}, (*ingressView).answersChallenges,
		claim.OwnerRules(c.owners, claim.Unless(c.sharedNamespaces, (*ingressView).claims, (*ingressView).isSolver))...)
}

// checks compiles the entry. Findings are in the order of its fields.
func (e *ingressesEntry) checks() []rule.Check[ingressView] {
	return slices.Concat(
		claim.FieldChecks(e.Hosts, (*ingressView).claims, "spec.rules"),
		unlessSolvers(slices.Concat(rule.ChecksOf(e.TLS, (*tlsRules).checks),
			rule.ChecksOf(e.ClassNames, (*classNameRules).checks), rule.ChecksOf(e.Paths, (*pathRules).checks))),
		annotationChecks[ingressView](e.Annotations),
		rule.ChecksOf(e.IngressNginx, (*ingressNginxRules).checks),
		unlessSolvers(rule.ChecksOf(e.Backends, (*ingressBackendRules).checks)),
		rule.Checks(rule.When(e.DefaultBackend, defaultBackendDenied{})),
	)
}

// defaultBackendDenied is defaultBackend. It finds an Ingress with spec.defaultBackend. A default backend receives
// every request that does not match a rule in any Ingress of the controller, for example requests for mistyped hosts
// and paths of other teams.
type defaultBackendDenied struct{}

func (defaultBackendDenied) Find(ing *ingressView, r *rule.Recorder) {
	if ing.DefaultBackend != nil {
		r.Add(rule.Identity{Check: "defaultBackend"}, "spec.defaultBackend",
			"gets every request that no rule matches, and is denied; list hosts in spec.rules instead")
	}
}

// ruleHosts returns the claims in the rules and the default backend of an Ingress.
func (ing *ingressView) ruleHosts(r *rule.Recorder) []claim.Claim {
	if ing.hosts == nil {
		ing.hosts = claim.OfRules(ing.Ingress, ing.Classes(), ing.known, r)
	}
	return ing.hosts
}

func (ing *ingressView) claims(r *rule.Recorder) *claim.Set {
	if ing.claimed.List == nil {
		ing.claimed.List = claim.OfIngress(ing.Ingress, ing.ruleHosts(r), ing.known, r)
	}
	return &ing.claimed
}
