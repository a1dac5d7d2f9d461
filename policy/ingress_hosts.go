package policy

import (
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// hostRules is the field hosts of an ingresses entry. Hosts are compared as DNS compares them, by match.HostPattern. A
// rule without a host stands for every host, and so does a default backend, alone or beside rules.
type hostRules struct {
	// Required: true means that each rule of an Ingress must name a host, and that there must be a rule.
	Required bool `yaml:"required"`
	// Allowed lists the hosts that pass: ["*.apps.example.com"]. A wildcard host passes only if every host that it
	// covers passes, and so does an absent one. [] means that no host passes.
	Allowed []match.HostPattern `yaml:"allowed"`
	// Denied lists the hosts that do not pass. A wildcard host, or an absent one, is denied if any host that it covers
	// is.
	Denied []match.HostPattern `yaml:"denied"`
	// Wildcards: deny means that a host must not be a wildcard; an absent one counts as a wildcard.
	Wildcards denial `yaml:"wildcards"`
	// Max is how many different hosts an Ingress may have.
	Max *int `yaml:"max"`
}

// Validate implements strict.Validator.
func (h *hostRules) Validate() error {
	var faults strict.Faults
	faults.Add(refuseEmpty("denied", h.Denied))
	denied := match.NewHostSet(h.Denied)
	for _, p := range h.Allowed {
		if by, ok := denied.Covers(p); ok {
			faults.Fieldf("allowed", "%s is also denied, by %s: no host can pass by it", p, by)
		}
	}
	if h.Max != nil && *h.Max < 1 {
		faults.Fieldf("max", "%d is too few, an Ingress has at least one host: to deny all of them "+
			"write allowed: []", *h.Max)
	}
	if len(h.checks()) == 0 {
		faults.Add(errNoCheck("required, allowed, denied, wildcards or max"))
	}
	return faults.Err()
}

func (h *hostRules) checks() []check[Ingress] {
	if h == nil {
		return nil
	}
	var checks []check[Ingress]
	if h.Required {
		checks = append(checks, hostsRequired{})
	}
	if h.Allowed != nil {
		checks = append(checks, newHostsAllowed(h.Allowed))
	}
	if h.Denied != nil {
		checks = append(checks, hostsDenied{match.NewHostOverlaps(h.Denied)})
	}
	if h.Wildcards {
		checks = append(checks, hostsWildcards{})
	}
	if h.Max != nil {
		checks = append(checks, hostsMax(*h.Max))
	}
	return checks
}

// hostsRequired is hosts.required: it finds each rule without a host, an Ingress without rules, and a default backend
// beside rules.
type hostsRequired struct{}

func (hostsRequired) find(ing *Ingress, r *report) {
	hosts := r.ingressHosts(ing)
	for i := range hosts {
		h := &hosts[i]
		if !r.spend(1) {
			return
		}
		if h.IsEvery() {
			if f := r.tryAdd(h.identity("hosts.required")); f != nil {
				f.Path, f.Reason = h.at.String(), h.at.every()+h.at.setOne()
			}
		}
	}
}

// hostsAllowed is hosts.allowed: it finds each host that no pattern covers. A wildcard host passes only if one pattern
// covers every host that it stands for: *.a.example passes by *.a.example and by **.example, but not by x.a.example. An
// absent host, and a default backend, pass only by **.
type hostsAllowed struct {
	patterns *match.HostSet
	passing  string // the end of its sentences
}

func newHostsAllowed(patterns []match.HostPattern) hostsAllowed {
	return hostsAllowed{match.NewHostSet(patterns), passing(stringsOf(patterns))}
}

func (c hostsAllowed) find(ing *Ingress, r *report) {
	lookup := hostLookup{set: c.patterns}
	hosts := r.ingressHosts(ing)
	for i := range hosts {
		h := &hosts[i]
		if !r.spend(h.steps()) {
			return
		}
		if lookup.find(h) {
			continue
		}
		if f := r.tryAdd(h.identity("hosts.allowed")); f != nil {
			f.Path, f.Reason = h.at.String(), h.at.every()+c.passing
			if !h.IsEvery() {
				f.Reason = text.Quote(h.String()) + " is not allowed" + c.passing
			}
		}
	}
}

// hostsDenied is hosts.denied: it finds each host that stands for any host that a pattern covers: *.example is denied
// by **.example, and also by a.example, for which it would serve requests too. An absent host stands for every host.
//
// A wildcard host stands for one label, as the Ingress specification says. nginx serves deeper names by it too: where
// that matters, hosts.wildcards denies it.
type hostsDenied struct{ denied *match.HostOverlaps }

func (c hostsDenied) find(ing *Ingress, r *report) {
	hosts := r.ingressHosts(ing)
	for i := range hosts {
		h := &hosts[i]
		if !r.spend(h.steps()) {
			return
		}
		by, how := c.denied.Find(h.HostPattern)
		if how == match.NoOverlap {
			continue
		}
		if f := r.tryAdd(h.identity("hosts.denied")); f != nil {
			f.Path, f.Reason = h.at.String(), c.reason(h, by, how)
		}
	}
}

// reason returns the sentence about a host that is denied by a pattern.
func (c hostsDenied) reason(h *ingressHost, by match.HostPattern, how match.HostOverlap) string {
	switch how {
	case match.OverlapEvery:
		return h.at.every() + ", also the denied " + by.String() + h.at.setOne()
	case match.OverlapWildcard:
		return text.Quote(h.String()) + " stands also for the denied " + by.String() + "; write each host out"
	default:
		return text.Quote(h.String()) + " is denied by " + by.String()
	}
}

// hostsWildcards is hosts.wildcards: it finds each host with a star, each absent one, and a default backend.
type hostsWildcards struct{}

func (hostsWildcards) find(ing *Ingress, r *report) {
	hosts := r.ingressHosts(ing)
	for i := range hosts {
		h := &hosts[i]
		if !r.spend(1) {
			return
		}
		if h.Depth == match.HostItself {
			continue
		}
		f := r.tryAdd(h.identity("hosts.wildcards"))
		switch {
		case f == nil:
		case h.IsEvery():
			f.Path, f.Reason = h.at.String(), h.at.every()+"; write each host out"
		default:
			f.Path = h.at.String()
			f.Reason = text.Quote(h.String()) + " is a wildcard, which is denied; write each host out"
		}
	}
}

// hostsMax is hosts.max: it finds an Ingress with more different hosts than this. An absent host counts as one.
type hostsMax int

func (c hostsMax) find(ing *Ingress, r *report) {
	if len(ing.Rules) < int(c) {
		return // at most one host for each rule, and one for a default backend: no need to count
	}
	if n := r.differentHosts(ing); n > int(c) {
		r.add(identity{check: "hosts.max", count: n}, "spec.rules",
			fmt.Sprintf("has %d different hosts; at most %d are allowed", n, int(c)))
	}
}
