package policy

import (
	"strconv"

	"github.com/evergate/evergate/policy/internal/match"
)

// ingressHosts returns the hosts that an Ingress stands for.
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

// differentHosts returns how many different hosts an Ingress stands for.
func (r *report) differentHosts(ing *Ingress) int {
	if r.hostCount == 0 {
		hosts := r.ingressHosts(ing)
		different := make(map[match.HostPattern]struct{}, len(hosts))
		for i := range hosts {
			if !r.spend(ledgerSteps) {
				break
			}
			different[hosts[i].HostPattern] = struct{}{}
		}
		r.hostCount = len(different)
	}
	return r.hostCount
}

// ingressHost is a host of an Ingress.
type ingressHost struct {
	match.HostPattern
	domain string // the name after its first label; empty for a wildcard
	at     hostPlace
}

// parseHosts returns the hosts of the rules of an Ingress, and every host for a default backend, which serves those
// that no rule names.
func parseHosts(ing *Ingress) []ingressHost {
	if len(ing.Rules) == 0 {
		return []ingressHost{{HostPattern: match.EveryHost(), at: noRules}}
	}
	hosts := make([]ingressHost, len(ing.Rules), len(ing.Rules)+1)
	last := "" // most hosts are in the domain of the one before: sharing the string makes comparing them cheap
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

// hostPlace is the position of a host in an Ingress: the index of a rule, or one of the places below.
type hostPlace int

const (
	// noRules stands for an Ingress that has only a default backend.
	noRules hostPlace = -1 - iota
	// defaultBackend stands for a default backend beside rules.
	defaultBackend
)

// String returns the field, as users write it.
func (p hostPlace) String() string {
	switch p {
	case noRules:
		return "spec.rules"
	case defaultBackend:
		return "spec.defaultBackend"
	}
	return "spec.rules[" + strconv.Itoa(int(p)) + "].host"
}

// every returns the beginning of a sentence about what stands for every host.
func (p hostPlace) every() string {
	if p == defaultBackend {
		return "serves every host that no rule names"
	}
	return "no host is set, which means every host"
}

// setOne returns the end of a sentence that requires a host.
func (p hostPlace) setOne() string {
	if p == defaultBackend {
		return "; name hosts in spec.rules instead"
	}
	return "; set one"
}

// steps returns how many steps it takes to look the host up: one for each eight bytes of its name.
func (h *ingressHost) steps() int { return 1 + len(h.Name)/8 }

// identity returns the identity of a finding about the host.
func (h *ingressHost) identity(check string) identity { return hostIdentity(check, h.HostPattern) }

// hostIdentity returns the identity of a finding about a host.
func hostIdentity(check string, host match.HostPattern) identity {
	return identity{check: check, value: host.Name, depth: host.Depth}
}

// hostLookup looks the hosts of an Ingress up in a set, one after the other. It caches the last domain, since most
// hosts of an Ingress are in one.
type hostLookup struct {
	set     *match.HostSet
	domain  string
	covered bool // a pattern covers every host one label below domain
}

// find looks up whether a pattern of the set covers every host that h stands for.
func (l *hostLookup) find(h *ingressHost) bool {
	if l.covered && h.Depth == match.HostItself && h.domain == l.domain {
		return true
	}
	if h.Depth != match.HostItself || l.set.Has(h.HostPattern) {
		_, ok := l.set.Covers(h.HostPattern)
		return ok
	}
	l.domain = h.domain
	_, l.covered = l.set.CoversBelow(l.domain)
	return l.covered
}
