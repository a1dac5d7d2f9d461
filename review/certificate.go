package review

import (
	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy/object"
)

// Certificates returns the kind Certificate of cert-manager.io/v1.
func Certificates() Objects[object.Certificate] {
	kinds := []Kind{{"Certificate", Resource{"cert-manager.io", "v1", "certificates"}, nil}}
	return Objects[object.Certificate]{kinds, readCertificate, readCertificate, nil, false}
}

func readCertificate(r *jsonscan.Reader, crt *object.Certificate) {
	for name := range r.Fields {
		switch string(name) {
		case "metadata":
			readMeta(r, &crt.Meta)
		case "spec":
			readCertificateSpec(r, crt)
		}
	}
}

func readCertificateSpec(r *jsonscan.Reader, crt *object.Certificate) {
	for name := range r.Fields {
		switch string(name) {
		case "commonName":
			crt.CommonName = r.String()
		case "literalSubject":
			crt.LiteralSubject = r.String()
		case "dnsNames":
			crt.DNSNames = r.Strings()
		case "uris":
			crt.URIs = r.Strings()
		case "ipAddresses":
			crt.IPAddresses = r.Strings()
		}
	}
}
