package policy

import (
	"errors"

	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// dnsEndpointView is a DNSEndpoint and its claims.
type dnsEndpointView struct {
	*object.DNSEndpoint
	view
	claimed claimSet // see claims
}

func viewDNSEndpoint(e *object.DNSEndpoint) dnsEndpointView { return dnsEndpointView{DNSEndpoint: e} }

// dnsEndpointRules compiles the rules for DNSEndpoints.
func dnsEndpointRules(b *blocks, c *compilation) rules {
	return rulesOf(b.DNSEndpoints, c, func(e *dnsEndpointsEntry) rule.Rule[dnsEndpointView] {
		return rule.New(e.RuleHeader, e.checks())
	}, nil, ownerRules(c.owners, (*dnsEndpointView).claims)...)
}

// EvaluateDNSEndpoint evaluates a DNSEndpoint. old is the DNSEndpoint before an update, nil otherwise.
func (p *Policy) EvaluateDNSEndpoint(
	a object.Attributes, endpoint, old *object.DNSEndpoint, e *Effort,
) ([]Finding, error) {
	return rule.Evaluate(rulesFor[dnsEndpointView](p, DNSEndpoints), a, viewDNSEndpoint, endpoint, old, e)
}

// ExplainDNSEndpoint returns for every dnsEndpoints rule whether it applies to the DNSEndpoint.
func (p *Policy) ExplainDNSEndpoint(a object.Attributes, endpoint *object.DNSEndpoint) []RuleTrace {
	return rule.Explain(rulesFor[dnsEndpointView](p, DNSEndpoints), a, viewDNSEndpoint, endpoint)
}

// dnsEndpointsEntry is an entry of dnsEndpoints: a rule for external-dns DNSEndpoints.
type dnsEndpointsEntry struct {
	rule.RuleHeader
	// Hosts restricts the names for which records may be created.
	Hosts *hostRules `yaml:"hosts"`
}

// Suggest implements strict.Suggester.
func (e *dnsEndpointsEntry) Suggest(field string) []string {
	return rule.ClasslessDimensions().Suggest(field)
}

// Validate implements strict.Validator.
func (e *dnsEndpointsEntry) Validate() error {
	err := e.Header.ValidateFor(rule.ClasslessDimensions())
	if len(e.checks()) == 0 {
		return errors.Join(err, rule.ErrNoCheck("hosts"))
	}
	return err
}

// checks compiles the entry.
func (e *dnsEndpointsEntry) checks() []rule.Check[dnsEndpointView] {
	return hostChecks(e.Hosts, (*dnsEndpointView).claims, "spec.endpoints")
}

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

// claims returns the claims of a DNSEndpoint. Each record makes claims (external-dns v0.23.0, source/crd.go), and so
// does each property that contains further hosts. external-dns does not check that a record has a name, so an absent
// name may mean every host.
func (e *dnsEndpointView) claims(r *rule.Recorder) *claimSet {
	if e.claimed.list != nil {
		return &e.claimed
	}
	claims := make([]hostClaim, 0, len(e.Endpoints))
	for i := range e.Endpoints {
		endpoint := &e.Endpoints[i]
		if !r.Spend(1 + len(endpoint.DNSName)/4) { // rune by rune
			return &e.claimed
		}
		claims = appendEndpointClaims(endpoint, claims, int32(i))
	}
	e.claimed.list = e.propertyClaims(claims, r)
	return &e.claimed
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

// propertyClaims appends the claims of properties, which external-dns copies from annotations with the same names.
func (e *dnsEndpointView) propertyClaims(claims []hostClaim, r *rule.Recorder) []hostClaim {
	table, records := e.known.hostTable("DNSEndpoint"), claims
	for i := range e.Endpoints {
		properties := e.Endpoints[i].Properties
		for j := range properties {
			a := annotation{properties[j].Name, properties[j].Value}
			if !r.Spend(rule.StepsOf(2+len(table.globs), a.key)) {
				return claims
			}
			grammar := table.grammar(a.key)
			if grammar == nil || !r.Spend(len(a.value)) {
				continue
			}
			at := claimPlace{in: propertyHost(a.key), i: int32(i), j: int32(j)}
			claims = appendClaims(claims, records, grammar, a.value, at)
			if len(claims) > len(records)+maxAnnotationHosts {
				return claims
			}
		}
	}
	return claims
}
