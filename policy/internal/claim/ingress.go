package claim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// ruleHost returns the field for the host of a rule.
func ruleHost() claimField { return claimField{path: "spec.rules[%d].host", class: mainField} }

// noRules returns the field for an Ingress without rules, which has only a default backend.
func noRules() claimField { return claimField{path: "spec.rules", class: mainField} }

// defaultBackend returns the field for the default backend of an Ingress that also has rules.
func defaultBackend() claimField {
	return claimField{
		path: "spec.defaultBackend", class: mainField,
		every: "serves every host that is not in a rule", setOne: "; list hosts in spec.rules instead",
	}
}

// tlsHost returns the field for a host in spec.tls. A controller serves or orders a certificate for it.
func tlsHost() claimField { return claimField{path: "spec.tls[%d].hosts[%d]", class: tlsField} }

// OfRules returns the claims in the rules of an Ingress, and the claim of its default backend. The default backend
// serves the hosts that are not in any rule. If one of the classes of the Ingress is a globbing class, *.example in a
// rule covers names at any depth. OfRules returns nil if the Effort is exceeded.
func OfRules(ing *object.Ingress, classes [2]string, known *Annotations, r *rule.Recorder) []Claim {
	globs := known.areGlobbing(classes, r)
	if len(ing.Rules) == 0 {
		return []Claim{claimOf(match.EveryHost(), claimPlace{in: noRules})}
	}
	hosts := make([]Claim, len(ing.Rules), len(ing.Rules)+1)
	for i := range ing.Rules {
		if !r.Spend(rule.StepsOf(1, ing.Rules[i].Host)) {
			return nil
		}
		hosts[i] = newClaim(ing.Rules[i].Host, claimPlace{in: ruleHost, i: int32(i)})
		if globs && hosts[i].Depth == match.OneLabelBelow {
			hosts[i].Depth = match.LabelsBelow
		}
		hosts[i].follow(hosts[:i])
	}
	if ing.DefaultBackend != nil {
		hosts = append(hosts, claimOf(match.EveryHost(), claimPlace{in: defaultBackend}))
	}
	return hosts
}

// OfIngress returns all claims of an Ingress. They are in its rules, in its TLS hosts, for which certificates are
// ordered, and in its annotations. claims are the claims of OfRules. OfIngress returns nil if the Effort is exceeded.
func OfIngress(
	ing *object.Ingress, claims []Claim, known *Annotations, r *rule.Recorder,
) []Claim {
	rules := ing.Rules
	for i := range ing.TLS {
		for j, host := range ing.TLS[i].Hosts {
			if !r.Spend(rule.StepsOf(1, host)) {
				return nil
			}
			// Most lists of TLS hosts repeat the hosts in the rules in the same order. One claim is enough for both, unless
			// the controller serves a wildcard at any depth.
			if len(rules) > 0 && host == rules[0].Host {
				rule := &claims[len(ing.Rules)-len(rules)]
				rules = rules[1:]
				if rule.asCertified() == rule.HostPattern {
					continue
				}
			}
			if host == "" || j > 0 && host == ing.TLS[i].Hosts[j-1] { // it does not add a claim
				continue
			}
			c := newClaim(host, claimPlace{in: tlsHost, i: int32(i), j: int32(j)})
			c.follow(claims)
			claims = append(slices.Grow(claims, len(ing.TLS[i].Hosts)-j), c)
		}
	}
	return known.claims("Ingress", &ing.Meta, claims, r)
}

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
