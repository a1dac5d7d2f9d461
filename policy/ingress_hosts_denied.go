package policy

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// hostsDenied is hosts.denied: it finds each host that stands for anything that a pattern covers: *.example is denied
// by **.example, and also by a.example, for it would answer for that too. An absent host stands for every one.
//
// A wildcard host stands for one label, as the Ingress specification has it. nginx answers by it for deeper names too:
// where that matters, hosts.wildcards keeps them out.
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
		if f := r.found(h.identity("hosts.denied")); f != nil {
			f.Path, f.Reason = h.at.String(), c.reason(h, by, how)
		}
	}
}

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
