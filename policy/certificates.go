package policy

import (
	"errors"

	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// hostsEntry is an entry of certificates or dnsEndpoints: a rule for cert-manager Certificates or for external-dns
// DNSEndpoints.
type hostsEntry struct {
	rule.RuleHeader
	// Hosts restricts the hosts for which a certificate may be ordered, or for which DNS records may be created. It has
	// no required field: cert-manager rejects a Certificate without a name, and a Certificate for an address or a user
	// does not need a host.
	Hosts *claim.HostRules `yaml:"hosts"`
}

func (e *hostsEntry) Suggest(field string) []string { return rule.ClasslessDimensions().Suggest(field) }

func (e *hostsEntry) Validate() error {
	return errors.Join(e.Header.ValidateFor(rule.ClasslessDimensions()), rule.RejectNone(e.checks(""), "hosts"))
}

// checks compiles the entry. list is the field that contains the hosts.
func (e *hostsEntry) checks(list string) []rule.Check[hostsView] {
	return claim.Checks(e.Hosts, (*hostsView).claims, list)
}

// hostsView is the view of a Certificate or a DNSEndpoint, with its claims.
type hostsView struct {
	*object.Meta
	view
	claimed claim.Set // see claims
	read    func(known *claim.Annotations, r *rule.Recorder) []claim.Claim
}

func viewCertificate(crt *object.Certificate) hostsView {
	return hostsView{Meta: &crt.Meta, read: func(_ *claim.Annotations, r *rule.Recorder) []claim.Claim {
		return claim.OfCertificate(crt, r)
	}}
}

func viewDNSEndpoint(e *object.DNSEndpoint) hostsView {
	return hostsView{Meta: &e.Meta, read: func(known *claim.Annotations, r *rule.Recorder) []claim.Claim {
		return claim.OfDNSEndpoint(e, known, r)
	}}
}

func (v *hostsView) claims(r *rule.Recorder) *claim.Set {
	if v.claimed.List == nil {
		v.claimed.List = v.read(v.known, r)
	}
	return &v.claimed
}

func certificateRules(b *blocks, c *compilation) rules[object.Certificate] {
	compile := func(e *hostsEntry) rule.Rule[hostsView] { return rule.New(e.RuleHeader, e.checks("spec")) }
	return rulesOf(b.Certificates, c, viewCertificate, compile, nil,
		claim.OwnerRules(c.owners, claim.Unless(c.sharedNamespaces, (*hostsView).claims, nil))...)
}

func dnsEndpointRules(b *blocks, c *compilation) rules[object.DNSEndpoint] {
	compile := func(e *hostsEntry) rule.Rule[hostsView] {
		return rule.New(e.RuleHeader, e.checks("spec.endpoints"))
	}
	return rulesOf(b.DNSEndpoints, c, viewDNSEndpoint, compile, nil,
		claim.OwnerRules(c.owners, (*hostsView).claims)...)
}
