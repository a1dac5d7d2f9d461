// Package pki creates the certificates for tests and mounts them like the kubelet.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/evergate/evergate/internal/atomicdir"
)

// CA is a certificate authority. Its key can outlive its certificate, as with cert-manager's rotationPolicy: Never.
type CA struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	PEM  []byte
}

// Pair is a certificate and its key, in PEM.
type Pair struct{ Cert, Key []byte }

// NewCA creates a CA with a new key.
func NewCA(name string) (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return newCA(name, key)
}

// Renew returns the CA with the same name and key and a new certificate.
func (ca *CA) Renew() (*CA, error) { return newCA(ca.cert.Subject.CommonName, ca.key) }

func newCA(name string, key *ecdsa.PrivateKey) (*CA, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &CA{key, cert, encode("CERTIFICATE", der)}, nil
}

// Leaf issues a serving certificate for DNS names and IP addresses, with a new ECDSA P-256 key.
func (ca *CA) Leaf(names ...string) (Pair, error) {
	return ca.leaf(&x509.Certificate{}, names)
}

// Expired issues a serving certificate like Leaf, which expired a minute ago.
func (ca *CA) Expired(names ...string) (Pair, error) {
	return ca.leaf(&x509.Certificate{NotAfter: time.Now().Add(-time.Minute)}, names)
}

func (ca *CA) leaf(template *x509.Certificate, names []string) (Pair, error) {
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return ca.issue(template)
}

// Client issues a client certificate with a common name, and with groups in the form that Kubernetes reads.
func (ca *CA) Client(name string, groups ...string) (Pair, error) {
	return ca.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (ca *CA) issue(template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := sign(template, ca.cert, key, ca.key)
	if err != nil {
		return Pair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{encode("CERTIFICATE", der), encode("PRIVATE KEY", keyDER)}, nil
}

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(24 * time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return der, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Mount is a directory that is updated like a mounted Secret or ConfigMap.
type Mount struct{ Dir string }

// Write replaces the contents of the mount in one step.
func (m *Mount) Write(files map[string][]byte) error { return atomicdir.Write(m.Dir, files) }

// WritePair mounts a serving certificate with the keys of cert-manager's Secret.
func (m *Mount) WritePair(ca *CA, leaf Pair) error {
	return m.Write(map[string][]byte{"tls.crt": leaf.Cert, "tls.key": leaf.Key, "ca.crt": ca.PEM})
}
