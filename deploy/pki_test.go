package deploy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
)

// serviceName is the DNS name that the webhooks of base.yaml call.
const serviceName = "evergate.evergate-system.svc"

// authority is a test CA.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// newAuthority creates a CA that is valid for ten years around now.
func newAuthority(name string) *authority {
	a := &authority{key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: now.AddDate(-5, 0, 0), NotAfter: now.AddDate(5, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, a.pem = sign(template, template, &a.key.PublicKey, a.key)
	return a
}

// issue creates a serving certificate that is valid for a few days before and after now.
func (a *authority) issue(before, after int, dnsNames ...string) (
	leaf *x509.Certificate, key *ecdsa.PrivateKey, pem []byte,
) {
	key = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	leaf, pem = sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: now.AddDate(0, 0, -before), NotAfter: now.AddDate(0, 0, after),
		DNSNames: dnsNames, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, &key.PublicKey, a.key)
	return leaf, key, pem
}

func sign(template, parent *x509.Certificate, public *ecdsa.PublicKey,
	key *ecdsa.PrivateKey) (*x509.Certificate, []byte) {
	der := must(x509.CreateCertificate(rand.Reader, template, parent, public, key))
	return must(x509.ParseCertificate(der)), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// testCertificates replaces names by certificates. The certificates are the same in all files of testdata.
var testCertificates = sync.OnceValue(func() *strings.Replacer {
	ca := newAuthority("evergate-ca")
	_, _, leaf := ca.issue(30, 60, serviceName)
	_, _, expired := ca.issue(91, -1, serviceName)
	_, _, otherName := ca.issue(30, 60, "evergate.default.svc")
	encoded := base64.StdEncoding.EncodeToString
	return strings.NewReplacer(
		"${ca}", encoded(ca.pem), "${leaf}", encoded(leaf), "${expired}", encoded(expired),
		"${other-name}", encoded(otherName), "${other-ca}", encoded(newAuthority("other-ca").pem),
	)
})
