package policy

import "errors"

// Certificate is the part of a cert-manager.io/v1 Certificate that decisions depend on: the names that a certificate is
// ordered for.
type Certificate struct {
	Meta
	CommonName     string
	LiteralSubject string // a distinguished name (RFC 4514), which may have common names: CN=a.example,O=Example
	DNSNames       []string
	URIs           []string
	IPAddresses    []string
}

// certificateView is a Certificate and its claims.
type certificateView struct {
	*Certificate
	view
	claimed claimSet // see claims
}

func viewCertificate(crt *Certificate) certificateView { return certificateView{Certificate: crt} }

// certificatesEntry is an entry of certificates: a rule for Certificates of cert-manager.
type certificatesEntry struct {
	ruleHeader
	// Hosts: for which hosts a certificate may be ordered. There is no field required: cert-manager refuses a Certificate
	// without a name, and one of an address or a user need not have a host.
	Hosts *hostRules `yaml:"hosts"`
}

// Suggest implements strict.Suggester.
func (e *certificatesEntry) Suggest(field string) []string {
	return claimantDimensions().suggest(field)
}

// Validate implements strict.Validator.
func (e *certificatesEntry) Validate() error {
	err := e.header.validate(claimantDimensions())
	if len(e.checks()) == 0 {
		return errors.Join(err, errNoCheck("hosts"))
	}
	return err
}

// checks compiles the entry.
func (e *certificatesEntry) checks() []check[certificateView] {
	return hostChecks(e.Hosts, (*certificateView).claims, "spec")
}
