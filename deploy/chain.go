package deploy

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// servingSecrets yields the Secrets of --tls-cert that are in the inventory.
func (c *cluster) servingSecrets(yield func(*corev1.Secret) bool) {
	for _, s := range c.servers {
		if secret := find(c.secrets, s.Namespace, s.tlsSecret()); secret != nil && !yield(secret) {
			return
		}
	}
}

// parseCertificates parses PEM. A text without a certificate is an error.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(bytes.TrimSpace(text)); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, errors.New("there is no PEM certificate in it")
	}
	return certs, nil
}

// verify checks a chain as the API server does in a handshake.
func verify(chain []*x509.Certificate, bundle []byte, dnsName string, now time.Time) error {
	cas, err := parseCertificates(bundle)
	if err != nil {
		return fmt.Errorf("the caBundle cannot be read: %w", err)
	}
	_, err = chain[0].Verify(x509.VerifyOptions{
		DNSName: dnsName, Roots: pool(cas), Intermediates: pool(chain[1:]), CurrentTime: now,
	})
	return err
}

func pool(certs []*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range certs {
		p.AddCert(c)
	}
	return p
}

func inDate(cert *x509.Certificate, now time.Time) bool {
	return !now.Before(cert.NotBefore) && !now.After(cert.NotAfter)
}
