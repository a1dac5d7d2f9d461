package policy

import "github.com/evergate/evergate/internal/text"

// hostsDenied is hosts.denied: it finds each host that stands for anything that a pattern covers: *.example is denied
// by **.example, and also by a.example, for it would answer for that too. An absent host stands for every one.
//
// A wildcard host stands for one label, as the Ingress specification has it. nginx answers by it for deeper names too:
// where that matters, hosts.wildcards keeps them out.
type hostsDenied struct {
	listed   []hostPattern
	patterns *hostSet
	below    map[string]hostPattern // for a name, a denied host one label below it
}

func newHostsDenied(patterns []hostPattern) hostsDenied {
	c := hostsDenied{patterns, newHostSet(patterns), map[string]hostPattern{}}
	for _, p := range patterns {
		parent := parentHost(p.name)
		if _, taken := c.below[parent]; !taken && p.depth == hostItself {
			c.below[parent] = p
		}
	}
	return c
}

func (c hostsDenied) find(ing *Ingress, r *report) {
	hosts := r.ingressHosts(ing)
	for i := range hosts {
		h := &hosts[i]
		if !r.spend(h.steps()) {
			return
		}
		by, why := c.match(h.hostPattern)
		if why == hostPasses {
			continue
		}
		if f := r.found(h.identity("hosts.denied")); f != nil {
			f.Path, f.Reason = h.at.String(), c.reason(h, by, why)
		}
	}
}

// hostFault says what is wrong with a host.
type hostFault uint8

const (
	hostPasses hostFault = iota
	hostCovered
	hostCoversDenied
	hostIsEvery
)

// match returns why a host is denied, and by which pattern.
func (c hostsDenied) match(host hostPattern) (by hostPattern, why hostFault) {
	if host.depth == labelsBelow {
		return c.listed[0], hostIsEvery
	}
	if by, ok := c.patterns.covers(host); ok {
		return by, hostCovered
	}
	if denied, ok := c.below[host.name]; ok && host.depth == oneLabelBelow {
		return denied, hostCoversDenied
	}
	return hostPattern{}, hostPasses
}

func (c hostsDenied) reason(h *ingressHost, by hostPattern, why hostFault) string {
	switch why {
	case hostIsEvery:
		return h.at.every() + ", also the denied " + by.String() + h.at.setOne()
	case hostCoversDenied:
		return text.Quote(h.String()) + " stands also for the denied " + by.String() + "; write each host out"
	default:
		return text.Quote(h.String()) + " is denied by " + by.String()
	}
}
