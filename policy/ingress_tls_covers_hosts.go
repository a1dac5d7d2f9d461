package policy

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// tlsCoversHosts is tls.coversHosts: it finds each host that spec.tls names neither as it is nor by a wildcard one
// label above it, as certificates have them (RFC 6125): *.example covers a.example, but not b.a.example. An element of
// spec.tls without hosts means the controller's own certificate: what that covers is not known here, so it covers
// nothing. Without spec.tls no host is covered, and an absent host and a default backend cannot be.
type tlsCoversHosts struct{}

func (tlsCoversHosts) find(ing *Ingress, r *report) {
	hosts := r.ingressHosts(ing)
	certificates := r.tlsCoverage(ing)
	for i := range hosts {
		h := &hosts[i]
		if !r.spend(h.steps()) {
			return
		}
		if _, ok := certificates.hosts.Covers(h.HostPattern); ok {
			continue
		}
		if f := r.found(h.identity("tls.coversHosts")); f != nil {
			f.Path, f.Reason = h.at.String(), certificates.uncovered(h)
		}
	}
}

// tlsCoverage is what is known of the certificates of an Ingress.
type tlsCoverage struct {
	hosts   *match.HostSet
	unnamed string // ends the sentences when an element of spec.tls names no host
}

// tlsCoverage returns what is known of the certificates of an Ingress, prepared once for all rules.
func (r *report) tlsCoverage(ing *Ingress) *tlsCoverage {
	if r.coverage != nil {
		return r.coverage
	}
	c := &tlsCoverage{}
	n := 0
	for i := range ing.TLS {
		n += len(ing.TLS[i].Hosts)
		if len(ing.TLS[i].Hosts) == 0 && c.unnamed == "" {
			c.unnamed = fmt.Sprintf(" (spec.tls[%d] names no host, so what it covers is not known)", i)
		}
	}
	c.hosts = match.MakeHostSet(n)
	for i := range ing.TLS {
		for _, h := range ing.TLS[i].Hosts {
			if !r.spend(ledgerSteps + stepsOf(1, h)) {
				return c
			}
			// No certificate has ** or an empty name.
			if p := match.ParseHost(h); p.Depth != match.LabelsBelow {
				c.hosts.Add(p)
			}
		}
	}
	r.coverage = c
	return c
}

// uncovered says what is missing for a host.
func (c *tlsCoverage) uncovered(h *ingressHost) string {
	if h.Depth == match.LabelsBelow {
		return h.at.every() + "; no certificate covers that" + strings.Replace(h.at.setOne(), ";", ",", 1)
	}
	reason := text.Quote(h.String()) + " is in no spec.tls[].hosts; add it"
	if parent := match.ParentHost(h.Name); h.Depth == match.HostItself && parent != "" {
		reason += " or " + text.Quote("*."+parent)
	}
	return reason + c.unnamed
}
