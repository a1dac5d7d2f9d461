package policy

// hostsAllowed is hosts.allowed: it finds each host that no pattern covers. A wildcard host passes only if one pattern
// covers all that it stands for: *.a.example passes by *.a.example and by **.example, but not by x.a.example. An absent
// host passes only by **.
type hostsAllowed struct {
	patterns *hostSet
	passing  string // the end of its sentences
}

func newHostsAllowed(patterns []hostPattern) hostsAllowed {
	return hostsAllowed{newHostSet(patterns), passing(hostNames(patterns))}
}

func (c hostsAllowed) find(ing *Ingress, r *report) {
	patterns := hostLookup{hostSet: c.patterns}
	for i, host := range r.hosts(ing) {
		if _, ok := patterns.covers(host); ok {
			continue
		}
		reason := noHost
		if host.hostPattern != everyHost {
			reason = quoted(host.String()) + " is not allowed"
		}
		r.add(hostFinding("hosts.allowed", ing.placeOfHost(i), host.hostPattern, reason+c.passing))
	}
}
