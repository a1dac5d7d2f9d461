package policy

// hostsWildcards is hosts.wildcards: it finds each host with a star, and each absent one.
type hostsWildcards struct{}

func (hostsWildcards) find(ing *Ingress, r *report) {
	for i, host := range r.hosts(ing) {
		switch {
		case host.hostPattern == everyHost:
			r.add(hostFinding("hosts.wildcards", ing.placeOfHost(i), host.hostPattern, noHost+"; write each host out"))
		case host.depth != hostItself:
			r.add(hostFinding("hosts.wildcards", ing.placeOfHost(i), host.hostPattern,
				quoted(host.String())+" is a wildcard, which is denied; write each host out"))
		}
	}
}
