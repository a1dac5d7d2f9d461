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
	patterns := hostLookup{set: c.patterns}
	hosts := r.hosts(ing)
	for i := range hosts {
		if patterns.has(&hosts[i]) {
			continue
		}
		host, reason := hosts[i].hostPattern, noHost
		if host != everyHost {
			reason = quoted(host.String()) + " is not allowed"
		}
		r.add(hostFinding("hosts.allowed", ing.placeOfHost(i), host, reason+c.passing))
	}
}
