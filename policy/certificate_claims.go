package policy

import (
	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

func dnsNameHost() claimField        { return claimField{path: "spec.dnsNames[%d]"} }
func commonNameHost() claimField     { return claimField{path: "spec.commonName"} }
func literalSubjectHost() claimField { return claimField{path: "spec.literalSubject"} }
func uriHost() claimField            { return claimField{path: "spec.uris[%d]"} }
func ipAddressHost() claimField      { return claimField{path: "spec.ipAddresses[%d]"} }

// claimsOfCertificate returns the claims of a Certificate (cert-manager v1.21.2, pkg/util/pki/csr.go): its names and
// addresses, which all become part of the certificate. otherNames and emailAddresses identify users and do not claim
// hosts. isCA allows the certificate to sign others. It does not claim a host either, because the issuer decides whether
// to issue such a certificate. The result is never nil.
func claimsOfCertificate(crt *object.Certificate, r *rule.Recorder) []hostClaim {
	names := certificateNames{r: r, claims: make([]hostClaim, 0, len(crt.DNSNames)+len(crt.URIs)+len(crt.IPAddresses)+1)}
	names.each(dnsNameHost, crt.DNSNames, oneName)
	names.add(commonNameHost, 0, crt.CommonName, host.CommonName)
	names.addSubject(crt.LiteralSubject)
	names.each(uriHost, crt.URIs, host.URIName)
	names.each(ipAddressHost, crt.IPAddresses, host.AddressName)
	return names.claims
}

// certificateNames collects the claims of one Certificate.
type certificateNames struct {
	r      *rule.Recorder
	claims []hostClaim
}

// nameReader returns the hosts that a text refers to. ok is false if the text does not refer to a host.
type nameReader func(text string) (p match.HostPattern, ok bool)

// each adds the claims of a list. It adds only one claim for equal names in a row.
func (n *certificateNames) each(in func() claimField, list []string, read nameReader) {
	for i, s := range list {
		if i > 0 && s == list[i-1] {
			n.r.Spend(rule.StepsOf(1, s))
			continue
		}
		n.add(in, i, s, read)
	}
}

// add adds the claim of one text. An empty text does not claim anything.
func (n *certificateNames) add(in func() claimField, i int, s string, read nameReader) {
	// A text is read rune by rune. One step covers about four bytes.
	if s == "" || !n.r.Spend(1+len(s)/4) {
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

// oneName reads a DNS name of a certificate. The * of *.example represents one label.
func oneName(s string) (match.HostPattern, bool) { return host.OneLabel(s), true }

// addSubject adds the common names of a literal subject.
func (n *certificateNames) addSubject(subject string) {
	if !n.r.Spend(len(subject) / 4) { // byte by byte
		return
	}
	names, ok := host.CommonNames(subject)
	if !ok {
		n.add(literalSubjectHost, 0, subject, func(string) (match.HostPattern, bool) { return match.EveryHost(), true })
		return
	}
	for _, name := range names {
		n.add(literalSubjectHost, 0, name, host.CommonName)
	}
}
