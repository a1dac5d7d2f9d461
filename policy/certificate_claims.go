package policy

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
)

// certificateClaims returns the claims of a Certificate (cert-manager v1.21.2, pkg/util/pki/csr.go): its names and
// addresses, all of which go into the certificate. otherNames and emailAddresses are names of users, and no claim.
// Neither is isCA, with which the certificate may sign others: whether one is issued, the issuer decides.
func (r *report) certificateClaims(crt *Certificate) []hostClaim {
	if r.claims != nil {
		return r.claims
	}
	names := certificateNames{r: r, claims: make([]hostClaim, 0, len(crt.DNSNames)+1)}
	names.each(dnsNameHost, crt.DNSNames, oneName)
	names.add(commonNameHost, 0, crt.CommonName, commonName)
	names.addSubject(crt.LiteralSubject)
	names.each(uriHost, crt.URIs, uriName)
	names.each(ipAddressHost, crt.IPAddresses, addressName)
	r.claims = names.claims
	return r.claims
}

// certificateNames collects the claims of one Certificate.
type certificateNames struct {
	r      *report
	claims []hostClaim
}

// nameReader returns the hosts that a text names. ok is false where it names none.
type nameReader func(text string) (p match.HostPattern, ok bool)

// each adds the claims of a list.
func (n *certificateNames) each(kind placeKind, list []string, read nameReader) {
	for i, s := range list {
		n.add(kind, i, s, read)
	}
}

// add adds the claim of one text. An empty one names nothing.
func (n *certificateNames) add(kind placeKind, i int, s string, read nameReader) {
	// A text is read rune by rune, some four bytes in the time of a step.
	if s == "" || !n.r.spend(1+len(s)/4) {
		return
	}
	p, ok := read(s)
	if !ok {
		return
	}
	c := claimOfText(s, p, claimPlace{kind: kind, i: int32(i)})
	c.follow(n.claims)
	n.claims = append(n.claims, c)
}

// oneName reads a DNS name of a certificate: *.example is one label.
func oneName(s string) (match.HostPattern, bool) { return oneLabel(s), true }

// commonName reads a common name. One that is no host name, such as Example Root, names no host: where letters, digits,
// blanks and some signs stand, but no dot, no client finds the name that it is looking for. Other texts may stand for
// every host.
func commonName(s string) (match.HostPattern, bool) {
	p := oneLabel(s)
	if !p.IsEvery() {
		return p, true
	}
	inTitle := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(" -_:/@()&", c)
	}
	return p, strings.ContainsFunc(s, func(c rune) bool { return !inTitle(c) })
}

// uriName reads a URI: the host of its authority, as in spiffe://cluster.example/ns/team. urn: has none. Another URI
// without one may stand for every host: the host of sip:user@example is not in the place where others have it.
func uriName(s string) (match.HostPattern, bool) {
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Scheme == "":
		return match.EveryHost(), true
	case u.Scheme == "urn":
		return match.HostPattern{}, false
	}
	if p, ok := addressName(u.Hostname()); !p.IsEvery() {
		return p, ok
	}
	return oneLabel(u.Hostname()), true
}

// addressName reads an IP address. An IPv4 address within IPv6 is the IPv4 address, as in the certificate.
func addressName(s string) (match.HostPattern, bool) {
	ip, err := netip.ParseAddr(s)
	if err != nil || ip.Zone() != "" {
		return match.EveryHost(), true
	}
	return match.ParseHost(ip.Unmap().String()), true
}

// addSubject adds the common names of a literal subject.
func (n *certificateNames) addSubject(subject string) {
	if !n.r.spend(len(subject) / 4) { // byte by byte
		return
	}
	names, ok := commonNamesOf(subject)
	if !ok {
		n.add(literalSubjectHost, 0, subject, func(string) (match.HostPattern, bool) { return match.EveryHost(), true })
		return
	}
	for _, name := range names {
		n.add(literalSubjectHost, 0, name, commonName)
	}
}
