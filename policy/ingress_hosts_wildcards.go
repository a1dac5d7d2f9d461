package policy

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

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
		f := r.found(h.identity("hosts.wildcards"))
		switch {
		case f == nil:
		case h.IsEvery():
			f.Path, f.Reason = h.at.String(), h.at.every()+"; write each host out"
		default:
			f.Path, f.Reason = h.at.String(), text.Quote(h.String())+" is a wildcard, which is denied; write each host out"
		}
	}
}
