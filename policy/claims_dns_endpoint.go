package policy

import (
	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

func endpointHost() claimField { return claimField{path: "spec.endpoints[%d].dnsName"} }

// endpointType is the record type, by which a record can control the names below its name.
func endpointType() claimField { return claimField{path: "spec.endpoints[%d].recordType"} }

// ownershipHost is the list of targets that make a record an ownership record.
func ownershipHost() claimField {
	return claimField{
		path:   "spec.endpoints[%d].targets",
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

// claimsOfDNSEndpoint returns the claims of a DNSEndpoint. Each record makes claims (external-dns v0.23.0,
// source/crd.go), and so does each property that contains further hosts. external-dns does not check that a record has
// a name, so an absent name may mean every host. claimsOfDNSEndpoint returns nil if the Effort is exceeded.
func claimsOfDNSEndpoint(e *object.DNSEndpoint, known *knownAnnotations, r *rule.Recorder) []hostClaim {
	claims := make([]hostClaim, 0, len(e.Endpoints))
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
func appendEndpointClaims(e *object.Endpoint, claims []hostClaim, i int32) []hostClaim {
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

// appendPropertyClaims appends the claims of properties, which external-dns copies from annotations with the same names.
func appendPropertyClaims(
	e *object.DNSEndpoint, claims []hostClaim, table *hostAnnotationTable, r *rule.Recorder,
) []hostClaim {
	records := claims
	for i := range e.Endpoints {
		properties := e.Endpoints[i].Properties
		for j := range properties {
			name, value := properties[j].Name, properties[j].Value
			if !r.Spend(rule.StepsOf(2+len(table.globs), name)) {
				return claims
			}
			grammar := table.grammar(name)
			if grammar == nil || !r.Spend(len(value)) {
				continue
			}
			at := claimPlace{in: propertyHost(name), i: int32(i), j: int32(j)}
			claims = appendClaims(claims, records, grammar, value, at)
			if len(claims) > len(records)+maxAnnotationHosts {
				return claims
			}
		}
	}
	return claims
}
