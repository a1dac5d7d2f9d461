package policy

import (
	"errors"
)

// DNSEndpoint is the part of an externaldns.k8s.io/v1alpha1 DNSEndpoint that decisions depend on.
type DNSEndpoint struct {
	Meta
	Endpoints []Endpoint
}

// Endpoint is one element of spec.endpoints: a record of DNS. Where it points to is not among its fields.
type Endpoint struct {
	DNSName string
}

// dnsEndpointsEntry is an entry of dnsEndpoints: a rule for DNSEndpoints of external-dns.
type dnsEndpointsEntry struct {
	ruleHeader
	// Hosts: for which names there may be records.
	Hosts *hostRules `yaml:"hosts"`
}

// Suggest implements strict.Suggester.
func (e *dnsEndpointsEntry) Suggest(field string) []string {
	return claimantDimensions().suggest(field)
}

// Validate implements strict.Validator.
func (e *dnsEndpointsEntry) Validate() error {
	err := e.header.validate(claimantDimensions())
	if len(e.checks()) == 0 {
		return errors.Join(err, errNoCheck("hosts"))
	}
	return err
}

// checks compiles the entry.
func (e *dnsEndpointsEntry) checks() []check[DNSEndpoint] {
	return hostChecks(e.Hosts, (*report).dnsEndpointClaims, "spec.endpoints")
}

// dnsEndpointClaims returns the claims of a DNSEndpoint: the name of each record, whatever its type (external-dns
// v0.23.0, source/crd.go). *.example is any number of labels (RFC 4592). No name is none that external-dns checks, so
// that it may stand for every host.
func (r *report) dnsEndpointClaims(e *DNSEndpoint) []hostClaim {
	if r.claims != nil {
		return r.claims
	}
	claims := make([]hostClaim, 0, len(e.Endpoints))
	for i := range e.Endpoints {
		name := e.Endpoints[i].DNSName
		if !r.spend(1 + len(name)/4) { // rune by rune
			return nil
		}
		c := claimOfText(name, anyDepth(name), claimPlace{kind: endpointHost, i: int32(i)})
		c.follow(claims)
		claims = append(claims, c)
	}
	r.claims = claims
	return claims
}
