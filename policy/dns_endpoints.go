package policy

import (
	"errors"

	"github.com/evergate/evergate/policy/internal/match"
)

// DNSEndpoint is the part of an externaldns.k8s.io/v1alpha1 DNSEndpoint that decisions depend on.
type DNSEndpoint struct {
	Meta
	Endpoints []Endpoint
}

// dnsEndpointView is a DNSEndpoint and its claims.
type dnsEndpointView struct {
	*DNSEndpoint
	view
	claimed claimSet // see claims
}

func viewDNSEndpoint(e *DNSEndpoint) dnsEndpointView { return dnsEndpointView{DNSEndpoint: e} }

// dnsEndpointRules compiles the rules for DNSEndpoints.
func dnsEndpointRules(b *blocks, c *compilation) rules {
	return rulesOf(b.DNSEndpoints, c, func(e *dnsEndpointsEntry) rule[dnsEndpointView] {
		return rule[dnsEndpointView]{e.ruleHeader, e.checks()}
	}, ownerRules(c.owners, (*dnsEndpointView).claims)...)
}

// EvaluateDNSEndpoint evaluates a DNSEndpoint. old is the DNSEndpoint before an update, nil otherwise.
func (p *Policy) EvaluateDNSEndpoint(a Attributes, endpoint, old *DNSEndpoint, e *Effort) ([]Finding, error) {
	return evaluate(rulesFor[dnsEndpointView](p, DNSEndpoints), a, viewDNSEndpoint, endpoint, old, e)
}

// ExplainDNSEndpoint returns for every dnsEndpoints rule whether it applies to the DNSEndpoint.
func (p *Policy) ExplainDNSEndpoint(a Attributes, endpoint *DNSEndpoint) []RuleTrace {
	return explain(rulesFor[dnsEndpointView](p, DNSEndpoints), a, viewDNSEndpoint, endpoint)
}

// Endpoint is one element of spec.endpoints: a record of DNS. Where it points to is not among its fields.
type Endpoint struct {
	DNSName    string
	RecordType string // A, CNAME, NS, …
	// OwnershipRecord reports whether a target has the form of the TXT records in which external-dns keeps which records
	// are its own.
	OwnershipRecord bool
	Properties      []EndpointProperty // spec.endpoints[].providerSpecific
}

// EndpointProperty is one element of providerSpecific.
type EndpointProperty struct {
	Name, Value string
}

// dnsEndpointsEntry is an entry of dnsEndpoints: a rule for DNSEndpoints of external-dns.
type dnsEndpointsEntry struct {
	ruleHeader
	// Hosts: for which names there may be records.
	Hosts *hostRules `yaml:"hosts"`
}

// Suggest implements strict.Suggester.
func (e *dnsEndpointsEntry) Suggest(field string) []string {
	return claimantDimensions().suggest(field)
}

// Validate implements strict.Validator.
func (e *dnsEndpointsEntry) Validate() error {
	err := e.header.validate(claimantDimensions())
	if len(e.checks()) == 0 {
		return errors.Join(err, errNoCheck("hosts"))
	}
	return err
}

// checks compiles the entry.
func (e *dnsEndpointsEntry) checks() []check[dnsEndpointView] {
	return hostChecks(e.Hosts, (*dnsEndpointView).claims, "spec.endpoints")
}

func endpointHost() claimField { return claimField{path: "spec.endpoints[%d].dnsName"} }

// endpointType is the type of a record, by which the record controls the names below its name.
func endpointType() claimField { return claimField{path: "spec.endpoints[%d].recordType"} }

// ownershipHost is the targets that make a record an ownership record.
func ownershipHost() claimField {
	return claimField{
		path:   "spec.endpoints[%d].targets",
		every:  "has the form of an ownership record of external-dns, which takes over the records of any host",
		setOne: "; leave heritage= out",
	}
}

// propertyHost returns the value of a property.
func propertyHost(name string) func() claimField {
	return func() claimField {
		return claimField{path: "spec.endpoints[%d].providerSpecific[%d].value", key: name}
	}
}

// claims returns the claims of a DNSEndpoint: the claims of each record (external-dns v0.23.0, source/crd.go), and of
// the properties that name further hosts. external-dns does not check that a record has a name, so an absent name may
// mean every host.
func (e *dnsEndpointView) claims(r *report) *claimSet {
	if e.claimed.list != nil {
		return &e.claimed
	}
	claims := make([]hostClaim, 0, len(e.Endpoints))
	for i := range e.Endpoints {
		endpoint := &e.Endpoints[i]
		if !r.spend(1 + len(endpoint.DNSName)/4) { // rune by rune
			return &e.claimed
		}
		claims = endpoint.appendClaims(claims, int32(i))
	}
	e.claimed.list = e.propertyClaims(claims, r)
	return &e.claimed
}

// appendClaims appends the claims of record i: its name, as recordNames reads it, and of some types all names below it.
func (e *Endpoint) appendClaims(claims []hostClaim, i int32) []hostClaim {
	var name match.HostPattern
	for p := range recordNames(e.DNSName) {
		name = p
		c := recordClaim(e.DNSName, p, claimPlace{in: endpointHost, i: i})
		c.follow(claims)
		claims = append(claims, c)
	}
	if name.Depth == match.HostItself && e.controlsBelow() {
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

// controlsBelow reports whether a record of the type decides about the names below its own too: NS and DNAME delegate
// them, CAA says which authorities may issue certificates for them, and TXT and MX prove to authorities and to other
// services that one may have certificates for them. Types that are not known may do so.
func (e *Endpoint) controlsBelow() bool {
	switch e.RecordType {
	case "", "A", "AAAA", "CNAME", "HTTPS", "NAPTR", "PTR", "SRV", "SVCB":
		return false
	}
	return true
}

// propertyClaims appends the claims of properties, which external-dns copies from annotations of the same names.
func (e *dnsEndpointView) propertyClaims(claims []hostClaim, r *report) []hostClaim {
	table, records := e.known.hostTable("DNSEndpoint"), claims
	for i := range e.Endpoints {
		properties := e.Endpoints[i].Properties
		for j := range properties {
			a := annotation{properties[j].Name, properties[j].Value}
			if !r.spend(stepsOf(2+len(table.globs), a.key)) {
				return claims
			}
			grammar := table.grammar(a.key)
			if grammar == nil || !r.spend(len(a.value)) {
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
