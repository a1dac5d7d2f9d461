package policy

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
	for i, host := range r.hosts(ing) {
		if reason := c.reason(host.hostPattern); reason != "" {
			r.add(hostFinding("hosts.denied", ing.placeOfHost(i), host.hostPattern, reason))
		}
	}
}

// reason says why a host is denied; it is empty when it is not.
func (c hostsDenied) reason(host hostPattern) string {
	if host.depth == labelsBelow {
		return noHost + ", also the denied " + c.listed[0].String() + "; set one"
	}
	if by, ok := c.patterns.covers(host); ok {
		return quoted(host.String()) + " is denied by " + by.String()
	}
	if denied, ok := c.below[host.name]; ok && host.depth == oneLabelBelow {
		return quoted(host.String()) + " stands also for the denied " + denied.String() + "; write each host out"
	}
	return ""
}
