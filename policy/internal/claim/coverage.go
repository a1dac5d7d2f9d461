package claim

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// asCertified returns the hosts that the text of a claim means in a certificate. A controller may use *.example for
// names at any depth, but in a certificate the wildcard covers only names one label below.
func (h *Claim) asCertified() match.HostPattern {
	p := h.HostPattern
	if p.Depth == match.LabelsBelow && !p.IsEvery() {
		p.Depth = match.OneLabelBelow
	}
	return p
}

// Coverage contains the hosts that spec.tls of an Ingress covers.
type Coverage struct {
	hosts   *match.HostSet
	unnamed string // the end of the sentences if an element of spec.tls has no hosts
}

// CoverageOf returns the hosts that spec.tls of an Ingress covers. The result is incomplete if the Effort is exceeded.
func CoverageOf(ing *object.Ingress, r *rule.Recorder) *Coverage {
	c := &Coverage{}
	n := 0
	for i := range ing.TLS {
		n += len(ing.TLS[i].Hosts)
		if len(ing.TLS[i].Hosts) == 0 && c.unnamed == "" {
			c.unnamed = fmt.Sprintf(" (spec.tls[%d] does not have hosts, so its coverage is unknown)", i)
		}
	}
	c.hosts = match.MakeHostSet(n)
	for i := range ing.TLS {
		for _, h := range ing.TLS[i].Hosts {
			if !r.Spend(rule.LedgerSteps + rule.StepsOf(1, h)) {
				return c
			}
			// Certificates cannot contain ** or an empty name.
			if p := match.ParseHost(h); p.Depth != match.LabelsBelow {
				c.hosts.Add(p)
			}
		}
	}
	return c
}

// Find adds a finding of the given check for each claim whose hosts are not covered.
func (c *Coverage) Find(check string, claims []Claim, r *rule.Recorder) {
	for i := range claims {
		h := &claims[i]
		if !r.Spend(h.steps()) {
			return
		}
		if _, ok := c.hosts.Covers(h.asCertified()); ok {
			continue
		}
		if f := r.TryAdd(h.identity(check)); f != nil {
			f.Path, f.Reason = h.at.String(), c.uncovered(h)
		}
	}
}

// uncovered returns the sentence about a host that is not covered.
func (c *Coverage) uncovered(h *Claim) string {
	if h.IsEvery() {
		return h.at.every() + "; no certificate covers that" + strings.Replace(h.at.setOne(), ";", ",", 1)
	}
	p := h.asCertified()
	reason := text.Quote(p.String()) + " is not in any spec.tls[].hosts; add it"
	if parent := match.ParentHost(h.Name); h.Depth == match.HostItself && parent != "" {
		reason += " or " + text.Quote("*."+parent)
	}
	return reason + c.unnamed
}
