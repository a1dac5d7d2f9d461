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

// servedChain: the caBundle of each webhook verifies what is served now, for the name that the API server asks for:
// what the Service answered when it was dialled, else what the Secret of --tls-cert holds.
func servedChain() check {
	return check{
		id: "served-chain", severity: Error, live: true,
		finds: "a caBundle that does not verify the certificate that is served now",
		why: "every new connection of the API server fails with x509; connections that it holds still work, which " +
			"hides it for a while",
		fix: "see that cert-manager's cainjector runs and the annotation cert-manager.io/inject-ca-from is " +
			"there; then renew the leaf: cmctl renew",
		run: func(c *cluster, r *reporter) {
			chain, from := c.servedNow()
			for _, h := range c.hooks {
				switch {
				case !live(h.config) || h.ClientConfig.Service == nil:
				case len(h.ClientConfig.CABundle) == 0:
					r.error(h.ref, "its caBundle is empty: cert-manager has not injected the CA")
				case len(chain) > 0 && inDate(chain[0], c.now): // else: certificate-expiry
					if err := verify(chain, h.ClientConfig.CABundle, h.dnsName(), c.now); err != nil {
						r.error(h.ref, "its caBundle does not verify %s: %v", from, err)
					}
				}
			}
		},
	}
}

// servedNow returns the chain that is served, as far as it is known, and what it was taken from.
func (c *cluster) servedNow() (chain []*x509.Certificate, from string) {
	if len(c.served) > 0 {
		return c.served, "what the Service serves"
	}
	for secret := range c.servingSecrets {
		if chain, err := parseCertificates(secret.Data[corev1.TLSCertKey]); err == nil {
			return chain, c.ref(secret).String()
		}
	}
	return nil, ""
}

// servingSecrets yields the Secrets of --tls-cert that the inventory has.
func (c *cluster) servingSecrets(yield func(*corev1.Secret) bool) {
	for _, s := range c.servers {
		if secret := find(c.Secrets, s.Namespace, s.tlsSecret()); secret != nil && !yield(secret) {
			return
		}
	}
}

// verify does what the API server does in a handshake.
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

// parseCertificates reads PEM.
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
