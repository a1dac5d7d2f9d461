package policy

// hostsRequired is hosts.required: it finds each rule without a host, and an Ingress without rules.
type hostsRequired struct{}

func (hostsRequired) find(ing *Ingress, r *report) {
	for i, host := range r.hosts(ing) {
		if host.hostPattern == everyHost {
			r.add(hostFinding("hosts.required", ing.placeOfHost(i), host.hostPattern, noHost+"; set one"))
		}
	}
}
