package object

// Certificate is the part of a cert-manager.io/v1 Certificate that decisions depend on: the requested names and
// addresses.
type Certificate struct {
	Meta
	CommonName     string
	LiteralSubject string // a distinguished name (RFC 4514), for example CN=a.example,O=Example
	DNSNames       []string
	URIs           []string
	IPAddresses    []string
}
