package policy

import (
	"errors"

	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// dnsEndpointView is a DNSEndpoint and its claims.
type dnsEndpointView struct {
	*object.DNSEndpoint
	view
	claimed claim.Set // see claims
}

func viewDNSEndpoint(e *object.DNSEndpoint) dnsEndpointView { return dnsEndpointView{DNSEndpoint: e} }

// dnsEndpointRules compiles the rules for DNSEndpoints.
func dnsEndpointRules(b *blocks, c *compilation) rules[object.DNSEndpoint] {
	return rulesOf(b.DNSEndpoints, c, viewDNSEndpoint, func(e *dnsEndpointsEntry) rule.Rule[dnsEndpointView] {
		return rule.New(e.RuleHeader, e.checks())
	}, nil, claim.OwnerRules(c.owners, (*dnsEndpointView).claims)...)
}

// dnsEndpointsEntry is an entry of dnsEndpoints: a rule for external-dns DNSEndpoints.
type dnsEndpointsEntry struct {
	rule.RuleHeader
	// Hosts restricts the names for which records may be created.
	Hosts *claim.HostRules `yaml:"hosts"`
}

func (e *dnsEndpointsEntry) Suggest(field string) []string {
	return rule.ClasslessDimensions().Suggest(field)
}

func (e *dnsEndpointsEntry) Validate() error {
	err := e.Header.ValidateFor(rule.ClasslessDimensions())
	if len(e.checks()) == 0 {
		return errors.Join(err, rule.ErrNoCheck("hosts"))
	}
	return err
}

// checks compiles the entry.
func (e *dnsEndpointsEntry) checks() []rule.Check[dnsEndpointView] {
	return claim.Checks(e.Hosts, (*dnsEndpointView).claims, "spec.endpoints")
}

// claims returns the claims of a DNSEndpoint.
func (e *dnsEndpointView) claims(r *rule.Recorder) *claim.Set {
	if e.claimed.List == nil {
		e.claimed.List = claim.OfDNSEndpoint(e.DNSEndpoint, e.known, r)
	}
	return &e.claimed
}
