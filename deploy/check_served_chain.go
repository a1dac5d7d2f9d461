package deploy

import (
	"crypto/x509"

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
