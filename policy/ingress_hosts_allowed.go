package policy

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// hostsAllowed is hosts.allowed: it finds each host that no pattern covers. A wildcard host passes only if one pattern
// covers all that it stands for: *.a.example passes by *.a.example and by **.example, but not by x.a.example. An absent
// host, and a default backend, pass only by **.
type hostsAllowed struct {
	patterns *match.HostSet
	passing  string // the end of its sentences
}

func newHostsAllowed(patterns []match.HostPattern) hostsAllowed {
	return hostsAllowed{match.NewHostSet(patterns), passing(stringsOf(patterns))}
}

func (c hostsAllowed) find(ing *Ingress, r *report) {
	patterns := hostLookup{set: c.patterns}
	hosts := r.ingressHosts(ing)
	for i := range hosts {
		h := &hosts[i]
		if !r.spend(h.steps()) {
			return
		}
		if patterns.has(h) {
			continue
		}
		if f := r.found(h.identity("hosts.allowed")); f != nil {
			f.Path, f.Reason = h.at.String(), h.at.every()+c.passing
			if !h.IsEvery() {
				f.Reason = text.Quote(h.String()) + " is not allowed" + c.passing
			}
		}
	}
}
