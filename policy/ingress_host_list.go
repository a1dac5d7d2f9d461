package policy

import (
	"strconv"

	"github.com/evergate/evergate/policy/internal/match"
)

// ingressHosts returns what an Ingress answers for, parsed once for all rules.
func (r *report) ingressHosts(ing *Ingress) []ingressHost {
	if r.hosts == nil {
		steps := 1
		for i := range ing.Rules {
			steps += stepsOf(1, ing.Rules[i].Host)
		}
		if r.spend(steps) {
			r.hosts = parseHosts(ing)
		}
	}
	return r.hosts
}

// differentHosts returns how many different hosts an Ingress answers for, counted once for all rules.
func (r *report) differentHosts(ing *Ingress) int {
	if r.different == 0 {
		hosts := r.ingressHosts(ing)
		different := make(map[match.HostPattern]struct{}, len(hosts))
		for i := range hosts {
			if !r.spend(ledgerSteps) {
				break
			}
			different[hosts[i].HostPattern] = struct{}{}
		}
		r.different = len(different)
	}
	return r.different
}

// ingressHost is a host of an Ingress.
type ingressHost struct {
	match.HostPattern
	domain string // what stands behind its first label; empty if that is a star
	at     hostPlace
}

// parseHosts returns the hosts of the rules of an Ingress, and every host for a default backend: it serves those that no
// rule names.
func parseHosts(ing *Ingress) []ingressHost {
	if len(ing.Rules) == 0 {
		return []ingressHost{{HostPattern: match.EveryHost(), at: noRules}}
	}
	hosts := make([]ingressHost, len(ing.Rules), len(ing.Rules)+1)
	last := "" // most hosts lie in the domain of the one before: then it is the same string, which compares at a glance
	for i := range ing.Rules {
		h := ingressHost{HostPattern: match.ParseHost(ing.Rules[i].Host), at: hostPlace(i)}
		if h.Depth == match.HostItself {
			if domain := match.ParentHost(h.Name); domain != last {
				last = domain
			}
			h.domain = last
		}
		hosts[i] = h
	}
	if ing.DefaultBackend {
		hosts = append(hosts, ingressHost{HostPattern: match.EveryHost(), at: defaultBackend})
	}
	return hosts
}

// hostPlace is where a host of an Ingress stands: the index of a rule, or one of the places below.
type hostPlace int

const (
	// noRules stands for an Ingress that has only a default backend.
	noRules hostPlace = -1 - iota
	// defaultBackend stands for a default backend beside rules.
	defaultBackend
)

// String is the field, as users write it.
func (p hostPlace) String() string {
	switch p {
	case noRules:
		return "spec.rules"
	case defaultBackend:
		return "spec.defaultBackend"
	}
	return "spec.rules[" + strconv.Itoa(int(p)) + "].host"
}

// every begins the sentences about what stands for every host.
func (p hostPlace) every() string {
	if p == defaultBackend {
		return "serves every host that no rule names"
	}
	return "no host is set, which means every host"
}

// setOne ends those of them that ask for a host.
func (p hostPlace) setOne() string {
	if p == defaultBackend {
		return "; name hosts in spec.rules instead"
	}
	return "; set one"
}

// steps is how many steps it takes to look a host up: one for each few labels.
func (h *ingressHost) steps() int { return 1 + len(h.Name)/8 }

// identity is that of a finding about the host.
func (h *ingressHost) identity(check string) identity { return hostIdentity(check, h.HostPattern) }

// hostIdentity is the identity of a finding about a host.
func hostIdentity(check string, host match.HostPattern) identity {
	return identity{check: check, value: host.Name, depth: host.Depth}
}

// hostLookup asks a set about one host of an Ingress after the other. It remembers the last domain all of which is covered, in
// which the next host mostly lies too. One that is not covered is looked for each time: it is found fault with, which costs more.
type hostLookup struct {
	set     *match.HostSet
	domain  string
	covered bool // whether a pattern covers every host one label below domain
}

// has says whether a pattern of the set covers every host that h stands for.
func (l *hostLookup) has(h *ingressHost) bool {
	return l.covered && h.Depth == match.HostItself && h.domain == l.domain || l.ask(h)
}

func (l *hostLookup) ask(h *ingressHost) (ok bool) {
	if h.Depth != match.HostItself || l.set.Has(h.HostPattern) {
		_, ok = l.set.Covers(h.HostPattern)
		return ok
	}
	l.domain = h.domain
	_, l.covered = l.set.CoversBelow(l.domain)
	return l.covered
}
