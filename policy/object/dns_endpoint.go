package object

// DNSEndpoint is the part of an externaldns.k8s.io/v1alpha1 DNSEndpoint that decisions depend on.
type DNSEndpoint struct {
	Meta
	Endpoints []Endpoint
}

// Endpoint is one element of spec.endpoints: a DNS record. It does not contain the targets of the record.
type Endpoint struct {
	DNSName    string
	RecordType string // A, CNAME, NS, …
	// OwnershipRecord reports whether a target has the form of a TXT record in which external-dns stores the ownership of
	// records.
	OwnershipRecord bool
	Properties      []EndpointProperty // spec.endpoints[].providerSpecific
}

// EndpointProperty is one element of providerSpecific.
type EndpointProperty struct {
	Name, Value string
}
