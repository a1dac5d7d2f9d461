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
func certificateRules(b *blocks, c *compilation) rules[object.Certificate] {
	return rulesOf(b.Certificates, c, viewCertificate, func(e *certificatesEntry) rule.Rule[certificateView] {
		return rule.New(e.RuleHeader, e.checks())
	}, nil, claim.OwnerRules(c.owners, claim.Unless(c.sharedNamespaces, (*certificateView).claims, nil))...)
}

// certificatesEntry is an entry of certificates: a rule for cert-manager Certificates.
type certificatesEntry struct {
	rule.RuleHeader
	// Hosts restricts the hosts for which a certificate may be ordered. It has no required field: cert-manager rejects a
	// Certificate without a name, and a Certificate for an address or a user does not need a host.
	Hosts *claim.HostRules `yaml:"hosts"`
}

func (e *certificatesEntry) Suggest(field string) []string {
	return rule.ClasslessDimensions().Suggest(field)
}

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
