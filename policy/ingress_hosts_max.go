package policy

import "fmt"

// hostsMax is hosts.max: it finds an Ingress with more different hosts than this. An absent host counts as one.
type hostsMax int

func (c hostsMax) find(ing *Ingress, r *report) {
	if len(ing.Rules) < int(c) {
		return // at most one host for each rule, and one for a default backend: not worth counting
	}
	if n := r.differentHosts(ing); n > int(c) {
		r.add(identity{check: "hosts.max", count: n}, "spec.rules",
			fmt.Sprintf("has %d different hosts; at most %d are allowed", n, int(c)))
	}
}
