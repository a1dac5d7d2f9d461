package policy

import (
	"errors"

	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// certificateView is a Certificate and its claims.
type certificateView struct {
	*object.Certificate
	view
	claimed claim.Set // see claims
}

func viewCertificate(crt *object.Certificate) certificateView {
	return certificateView{Certificate: crt}
}

// certificateRules compiles the rules for Certificates.
func certificateRules(b *blocks, c *compilation) rules {
	return rulesOf(b.Certificates, c, func(e *certificatesEntry) rule.Rule[certificateView] {
		return rule.New(e.RuleHeader, e.checks())
	}, nil, claim.OwnerRules(c.owners, claim.Unless(c.sharedNamespaces, (*certificateView).claims, nil))...)
}

// EvaluateCertificate evaluates a Certificate. old is the Certificate before an update, nil otherwise.
func (p *Policy) EvaluateCertificate(a object.Attributes, crt, old *object.Certificate, e *Effort) ([]Finding, error) {
	return rule.Evaluate(rulesFor[certificateView](p, Certificates), a, viewCertificate, crt, old, e)
}

// ExplainCertificate returns for every certificates rule whether it applies to the Certificate.
func (p *Policy) ExplainCertificate(a object.Attributes, crt *object.Certificate) []RuleTrace {
	return rule.Explain(rulesFor[certificateView](p, Certificates), a, viewCertificate, crt)
}

// certificatesEntry is an entry of certificates: a rule for cert-manager Certificates.
type certificatesEntry struct {
	rule.RuleHeader
	// Hosts restricts the hosts for which a certificate may be ordered. It has no required field: cert-manager rejects a
	// Certificate without a name, and a Certificate for an address or a user does not need a host.
	Hosts *claim.HostRules `yaml:"hosts"`
}

// Suggest implements strict.Suggester.
func (e *certificatesEntry) Suggest(field string) []string {
	return rule.ClasslessDimensions().Suggest(field)
}

// Validate implements strict.Validator.
func (e *certificatesEntry) Validate() error {
	err := e.Header.ValidateFor(rule.ClasslessDimensions())
	if len(e.checks()) == 0 {
		return errors.Join(err, rule.ErrNoCheck("hosts"))
	}
	return err
}

// checks compiles the entry.
func (e *certificatesEntry) checks() []rule.Check[certificateView] {
	return claim.Checks(e.Hosts, (*certificateView).claims, "spec")
}

// claims returns the claims of a Certificate.
func (crt *certificateView) claims(r *rule.Recorder) *claim.Set {
	if crt.claimed.List == nil {
		crt.claimed.List = claim.OfCertificate(crt.Certificate, r)
	}
	return &crt.claimed
}
