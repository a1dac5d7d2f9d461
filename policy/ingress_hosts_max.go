package policy

import "fmt"

// hostsMax is hosts.max: it finds an Ingress with more different hosts than this. An absent host counts as one.
type hostsMax int

func (c hostsMax) find(ing *Ingress, r *report) {
	if len(ing.Rules) <= int(c) {
		return // as many hosts as rules at the most: not worth counting
	}
	different := make(map[hostPattern]struct{}, len(ing.Rules))
	for _, host := range r.hosts(ing) {
		different[host.hostPattern] = struct{}{}
	}
	if n := len(different); n > int(c) {
		r.add(Finding{
			Check:  "hosts.max",
			Path:   "spec.rules",
			Count:  n,
			Reason: fmt.Sprintf("has %d different hosts; at most %d are allowed", n, int(c)),
		})
	}
}
