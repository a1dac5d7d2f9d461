package claim

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

// OfCertificate returns the claims of a Certificate (cert-manager v1.21.2, pkg/util/pki/csr.go): its names and
// addresses, which all become part of the certificate. otherNames and emailAddresses identify users and do not claim
// hosts. isCA allows the certificate to sign others. It does not claim a host either, because the issuer decides
// whether to issue such a certificate. The result is never nil.
func OfCertificate(crt *object.Certificate, r *rule.Recorder) []Claim {
	names := certificateNames{r: r, claims: make([]Claim, 0, len(crt.DNSNames)+len(crt.URIs)+len(crt.IPAddresses)+1)}
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
	claims []Claim
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
	if !n.r.Spend(len(subject) / rule.StepBytes) { // to search it; CommonNames counts the rest
		return
	}
	names, ok := host.CommonNames(subject, n.r.Spend)
	if !ok {
		n.add(literalSubjectHost, 0, subject, func(string) (match.HostPattern, bool) { return match.EveryHost(), true })
		return
	}
	for _, name := range names {
		n.add(literalSubjectHost, 0, name, host.CommonName)
	}
}

func endpointHost() claimField { return claimField{path: "spec.endpoints[%d].dnsName"} }

// endpointType is the record type, by which a record can control the names below its name.
func endpointType() claimField { return claimField{path: "spec.endpoints[%d].recordType"} }

// ownershipHost is the list of targets that make a record an ownership record.
func ownershipHost() claimField {
	return claimField{
		path:   "spec.endpoints[%d].targets",
		key:    "targets", // the claim is not the claim of a name that is not valid
		every:  "has the form of an ownership record of external-dns, which takes over the records of any host",
		setOne: "; leave heritage= out",
	}
}

// propertyHost is the value of a property.
func propertyHost(name string) func() claimField {
	return func() claimField {
		return claimField{path: "spec.endpoints[%d].providerSpecific[%d].value", key: name}
	}
}

// OfDNSEndpoint returns the claims of a DNSEndpoint. Each record makes claims (external-dns v0.23.0, source/crd.go),
// and so does each property that contains further hosts. external-dns does not check that a record has a name, so an
// absent name may mean every host. OfDNSEndpoint returns nil if the Effort is exceeded.
func OfDNSEndpoint(e *object.DNSEndpoint, known *Annotations, r *rule.Recorder) []Claim {
	claims := make([]Claim, 0, len(e.Endpoints))
	for i := range e.Endpoints {
		endpoint := &e.Endpoints[i]
		if !r.Spend(1 + len(endpoint.DNSName)/4) { // rune by rune
			return nil
		}
		claims = appendEndpointClaims(endpoint, claims, int32(i))
	}
	return appendPropertyClaims(e, claims, known.hostTable("DNSEndpoint"), r)
}

// appendEndpointClaims appends the claims of record i: its name, as host.RecordNames reads it, and for some types all
// names below it.
func appendEndpointClaims(e *object.Endpoint, claims []Claim, i int32) []Claim {
	var name match.HostPattern
	for p := range host.RecordNames(e.DNSName) {
		name = p
		c := recordClaim(e.DNSName, p, claimPlace{in: endpointHost, i: i})
		c.follow(claims)
		claims = append(claims, c)
	}
	if name.Depth == match.HostItself && controlsBelow(e) {
		name.Depth = match.LabelsBelow
		at := claimPlace{in: endpointType, i: i, text: e.DNSName, speaks: true}
		claims = append(claims, claimOf(name, at))
	}
	if e.RecordType == "TXT" && e.OwnershipRecord {
		at := claimPlace{in: ownershipHost, i: i, text: e.DNSName, unreadable: true}
		claims = append(claims, claimOf(match.EveryHost(), at))
	}
	return claims
}

// controlsBelow reports whether a record of this type also controls the names below its name. NS and DNAME delegate
// them. CAA restricts the authorities that may issue certificates for them. TXT and MX can prove to authorities and
// other services that the owner of the record may have certificates for them. An unknown type may do any of these.
func controlsBelow(e *object.Endpoint) bool {
	switch e.RecordType {
	case "", "A", "AAAA", "CNAME", "HTTPS", "NAPTR", "PTR", "SRV", "SVCB":
		return false
	}
	return true
}

// appendPropertyClaims appends the claims of properties, which external-dns copies from annotations with the same
// names.
func appendPropertyClaims(
	e *object.DNSEndpoint, claims []Claim, table *hostAnnotationTable, r *rule.Recorder,
) []Claim {
	records := claims
	for i := range e.Endpoints {
		properties := e.Endpoints[i].Properties
		for j := range properties {
			name, value := properties[j].Name, properties[j].Value
			if !r.Spend(rule.StepsOf(2+len(table.globs), name)) {
				return claims
			}
			grammar := table.grammar(name)
			if grammar == nil {
				continue
			}
			at, full := claimPlace{in: propertyHost(name), i: int32(i), j: int32(j)}, false
			if claims, full = appendClaims(claims, records, grammar, value, at, r); full {
				many := tooManyHosts(at.in, func(yield func(name, value string) bool) {
					for i := range e.Endpoints {
						for _, p := range e.Endpoints[i].Properties {
							if !yield(p.Name, p.Value) {
								return
							}
						}
					}
				}, r)
				many.at.i, many.at.j = at.i, at.j
				return append(claims, many)
			}
		}
	}
	return claims
}
