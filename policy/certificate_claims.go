package policy

import (
	"net/netip"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
)

func dnsNameHost() claimField        { return claimField{path: "spec.dnsNames[%d]"} }
func commonNameHost() claimField     { return claimField{path: "spec.commonName"} }
func literalSubjectHost() claimField { return claimField{path: "spec.literalSubject"} }
func uriHost() claimField            { return claimField{path: "spec.uris[%d]"} }
func ipAddressHost() claimField      { return claimField{path: "spec.ipAddresses[%d]"} }

// claims returns the claims of a Certificate (cert-manager v1.21.2, pkg/util/pki/csr.go): its names and addresses, all
// of which go into the certificate. otherNames and emailAddresses are names of users, and make no claim. isCA, with
// which the certificate may sign others, makes no claim either: the issuer decides whether it issues such a
// certificate.
func (crt *certificateView) claims(r *report) *claimSet {
	if crt.claimed.list != nil {
		return &crt.claimed
	}
	names := certificateNames{r: r, claims: make([]hostClaim, 0, len(crt.DNSNames)+len(crt.URIs)+len(crt.IPAddresses)+1)}
	names.each(dnsNameHost, crt.DNSNames, oneName)
	names.add(commonNameHost, 0, crt.CommonName, commonName)
	names.addSubject(crt.LiteralSubject)
	names.each(uriHost, crt.URIs, uriName)
	names.each(ipAddressHost, crt.IPAddresses, addressName)
	crt.claimed.list = names.claims
	return &crt.claimed
}

// certificateNames collects the claims of one Certificate.
type certificateNames struct {
	r      *report
	claims []hostClaim
}

// nameReader returns the hosts that a text names. ok is false where it names none.
type nameReader func(text string) (p match.HostPattern, ok bool)

// each adds the claims of a list. A name that stands twice, one after the other, is one claim.
func (n *certificateNames) each(in func() claimField, list []string, read nameReader) {
	for i, s := range list {
		if i > 0 && s == list[i-1] {
			n.r.spend(stepsOf(1, s))
			continue
		}
		n.add(in, i, s, read)
	}
}

// add adds the claim of one text. An empty one names nothing.
func (n *certificateNames) add(in func() claimField, i int, s string, read nameReader) {
	// A text is read rune by rune, some four bytes in the time of a step.
	if s == "" || !n.r.spend(1+len(s)/4) {
		return
	}
	p, ok := read(s)
	if !ok {
		return
	}
	c := claimOfText(s, p, claimPlace{in: in, i: int32(i)})
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

// uriName reads a URI: the host of its authority, as in https://web.example/a. urn: has none, and the trust domain of
// spiffe://cluster.local/ns/team names a set of workloads and no host. Another URI without a host may stand for every
// host: the host of sip:user@example is not in the place where others have it.
func uriName(s string) (match.HostPattern, bool) {
	scheme, rest, ok := strings.Cut(s, ":")
	authority, hierarchical := strings.CutPrefix(rest, "//")
	switch {
	case ok && (strings.EqualFold(scheme, "urn") || strings.EqualFold(scheme, "spiffe") && hierarchical):
		return match.HostPattern{}, false
	case !hierarchical, !isScheme(scheme):
		return match.EveryHost(), true
	}
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	return authorityName(authority)
}

// isScheme reports whether a text is the scheme of a URI (RFC 3986).
func isScheme(s string) bool {
	letter := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	return s != "" && letter(rune(s[0])) && !strings.ContainsFunc(s, func(c rune) bool {
		return !letter(c) && (c < '0' || c > '9') && c != '+' && c != '-' && c != '.'
	})
}

// authorityName reads the authority of a URI: a host, perhaps with a user before it and a port behind it. One that
// readers of URIs take apart in different ways, with two @ or a backslash, is every host.
func authorityName(s string) (match.HostPattern, bool) {
	host := s[strings.LastIndexByte(s, '@')+1:]
	if strings.Count(s, "@") > 1 || strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c == '\\' || c > '~'
	}) {
		return match.EveryHost(), true
	}
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		if strings.Trim(host[colon+1:], "0123456789") != "" {
			return match.EveryHost(), true
		}
		host = host[:colon]
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		if !closed {
			return match.EveryHost(), true
		}
		return addressName(inner)
	}
	return oneLabel(host), true
}

// addressName reads an IP address. An IPv4 address within IPv6 is the IPv4 address, as in the certificate.
func addressName(s string) (match.HostPattern, bool) {
	inAddress := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' || c == '.' || c == ':'
	}
	if strings.ContainsFunc(s, func(c rune) bool { return !inAddress(c) }) { // also a zone, which no certificate has
		return match.EveryHost(), true
	}
	ip, err := netip.ParseAddr(s)
	if err != nil {
		return match.EveryHost(), true
	}
	var canonical [len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")]byte
	if text := ip.Unmap().AppendTo(canonical[:0]); string(text) != s { // without a copy of what most addresses are
		s = string(text)
	}
	return match.HostPattern{Name: s}, true
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
