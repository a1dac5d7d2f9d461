package policy

import (
	"errors"
	"slices"

	"github.com/evergate/evergate/policy/internal/strict"
)

// ingressesEntry is an entry of ingresses: a rule for Ingresses. Each field below is a block of checks; an absent one
// checks nothing, and at least one is required. Checks are independent: each reports a fault that another one reports
// too, since otherwise fixing half of it could look like an introduced finding to the ratchet.
type ingressesEntry struct {
	ruleHeader
	// Hosts: which hosts an Ingress may claim.
	Hosts *fieldHostRules `yaml:"hosts"`
	// TLS: whether it must be served by TLS.
	TLS *tlsRules `yaml:"tls"`
	// ClassNames: which controllers may serve it.
	ClassNames *classNameRules `yaml:"classNames"`
	// Paths: which paths it may have.
	Paths *pathRules `yaml:"paths"`
	// Annotations: which annotations it may or must have.
	Annotations *annotationRules `yaml:"annotations"`
	// IngressNginx: what concerns the controller ingress-nginx alone.
	IngressNginx *ingressNginxRules `yaml:"ingressNginx"`
	// DefaultBackend: deny means that spec.defaultBackend must be absent.
	DefaultBackend denial `yaml:"defaultBackend"`
}

// Suggest implements strict.Suggester.
func (e *ingressesEntry) Suggest(field string) []string { return ingressDimensions().suggest(field) }

// Validate implements strict.Validator.
func (e *ingressesEntry) Validate() error {
	err := e.header.validate(ingressDimensions())
	switch {
	case e.Annotations != nil && len(annotationChecks[ingressView](e.Annotations)) == 0:
		none := errNoCheck("denied, required, values or deniedValues")
		return errors.Join(err, strict.Fieldf("annotations", "%v", none))
	case len(e.checks()) == 0:
		none := errNoCheck("hosts, tls, classNames, paths, annotations, ingressNginx or defaultBackend")
		return errors.Join(err, none)
	}
	return err
}

// ingressView is an Ingress and the values that its checks parse.
type ingressView struct {
	*Ingress
	view
	hosts    []hostClaim  // see ruleHosts
	claimed  claimSet     // see claims
	coverage *tlsCoverage // see tlsCoverage
	paths    []pathPlace  // see allPaths
	syntax   pathSyntax   // see pathSyntax
}

func viewIngress(ing *Ingress) ingressView { return ingressView{Ingress: ing} }

// ingressRules compiles the rules for Ingresses.
func ingressRules(b *blocks, c *compilation) rules {
	s := rulesOf(b.Ingresses, c, func(e *ingressesEntry) rule[ingressView] {
		return rule[ingressView]{e.ruleHeader, e.checks()}
	}, ownerRules(c.owners, claimsUnless(c.carriers, (*ingressView).claims, (*ingressView).isSolver))...)
	s.isSolver = (*ingressView).answersChallenges
	return s
}

// EvaluateIngress evaluates an Ingress. old is the Ingress before an update, nil otherwise.
func (p *Policy) EvaluateIngress(a Attributes, ing, old *Ingress, e *Effort) ([]Finding, error) {
	return evaluate(rulesFor[ingressView](p, Ingresses), a, viewIngress, ing, old, e)
}

// ExplainIngress returns for every ingresses rule whether it applies to the Ingress.
func (p *Policy) ExplainIngress(a Attributes, ing *Ingress) []RuleTrace {
	return explain(rulesFor[ingressView](p, Ingresses), a, viewIngress, ing)
}

// checks compiles the entry. Findings come in the order of its fields.
func (e *ingressesEntry) checks() []check[ingressView] {
	var backend []check[ingressView]
	if e.DefaultBackend {
		backend = append(backend, defaultBackendDenied{})
	}
	return slices.Concat(
		fieldHostChecks(e.Hosts, (*ingressView).claims, "spec.rules"),
		unlessSolvers(slices.Concat(e.TLS.checks(), e.ClassNames.checks(), e.Paths.checks())),
		annotationChecks[ingressView](e.Annotations),
		e.IngressNginx.checks(),
		backend,
	)
}

// defaultBackendDenied is defaultBackend: it finds an Ingress with spec.defaultBackend, which receives the requests
// that no rule of any Ingress of its controller matches: other teams' mistyped hosts and paths.
type defaultBackendDenied struct{}

func (defaultBackendDenied) find(ing *ingressView, r *report) {
	if ing.DefaultBackend {
		r.add(identity{check: "defaultBackend"}, "spec.defaultBackend",
			"gets every request that no rule takes, and is denied; name hosts in spec.rules instead")
	}
}
