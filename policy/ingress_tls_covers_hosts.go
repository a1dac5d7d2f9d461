package policy

import "fmt"

// tlsCoversHosts is tls.coversHosts: it finds each host that spec.tls names neither as it is nor by a wildcard one
// label above it, as certificates have them (RFC 6125): *.example covers a.example, but not b.a.example. An element of
// spec.tls without hosts means the controller's own certificate: what that covers is not known here, so it covers
// nothing. Without spec.tls no host is covered, and an absent host cannot be.
type tlsCoversHosts struct{}

func (tlsCoversHosts) find(ing *Ingress, r *report) {
	certificates := newTLSCoverage(ing.TLS)
	for i, host := range r.hosts(ing) {
		if _, ok := certificates.hosts.covers(host.hostPattern); !ok {
			r.add(hostFinding("tls.coversHosts", ing.placeOfHost(i), host.hostPattern, certificates.uncovered(host.hostPattern)))
		}
	}
}

// tlsCoverage is what is known of the certificates of an Ingress.
type tlsCoverage struct {
	hosts   *hostSet
	unnamed string // ends the sentences when an element of spec.tls names no host
}

func newTLSCoverage(tls []IngressTLS) tlsCoverage {
	var c tlsCoverage
	n := 0
	for i := range tls {
		n += len(tls[i].Hosts)
		if len(tls[i].Hosts) == 0 && c.unnamed == "" {
			c.unnamed = fmt.Sprintf(" (spec.tls[%d] names no host, so what it covers is not known)", i)
		}
	}
	c.hosts = &hostSet{patterns: make(map[hostPattern]struct{}, n)}
	for i := range tls {
		for _, h := range tls[i].Hosts {
			// No certificate has ** or an empty name.
			if p := parseHost(h); p.depth != labelsBelow {
				c.hosts.add(p)
			}
		}
	}
	return c
}

// uncovered says what is missing for a host.
func (c tlsCoverage) uncovered(host hostPattern) string {
	if host.depth == labelsBelow {
		return noHost + "; no certificate covers that, set one"
	}
	reason := quoted(host.String()) + " is in no spec.tls[].hosts; add it"
	if parent := parentHost(host.name); host.depth == hostItself && parent != "" {
		reason += " or " + quoted("*."+parent)
	}
	return reason + c.unnamed
}
