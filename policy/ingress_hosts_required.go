package policy

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
			if f := r.found(h.identity("hosts.required")); f != nil {
				f.Path, f.Reason = h.at.String(), h.at.every()+h.at.setOne()
			}
		}
	}
}
