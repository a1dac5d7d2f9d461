package deploy

import (
	"crypto/x509"

	corev1 "k8s.io/api/core/v1"
)

// servedChain checks that the caBundle of each webhook verifies the certificate that Evergate serves now, for the DNS
// name that the API server requests. The certificate comes from dialing the Service, or otherwise from the Secret of
// --tls-cert.
func servedChain() check {
	return check{
		id: "served-chain", severity: Error, live: true,
		finds: "a caBundle that does not verify the certificate that Evergate serves now",
		why: "every new connection of the API server fails with an x509 error. Its open connections still work, so " +
			"the problem is hidden for a while",
		fix: "check that cert-manager's cainjector runs and that the annotation cert-manager.io/inject-ca-from is " +
			"set. Then renew the serving certificate with cmctl renew",
		run: func(c *cluster, r *reporter) {
			chain, from := c.servedNow()
			for _, h := range c.hooks {
				switch {
				case !live(h.config) || h.ClientConfig.Service == nil:
				case len(h.ClientConfig.CABundle) == 0:
					r.error(h.ref, "its caBundle is empty: cert-manager has not injected the CA")
				case len(chain) > 0 && inDate(chain[0], c.now): // otherwise see the check certificate-expiry
					if err := verify(chain, h.ClientConfig.CABundle, h.dnsName(), c.now); err != nil {
						r.error(h.ref, "its caBundle does not verify %s: %v", from, err)
					}
				}
			}
		},
	}
}

// servedNow returns the certificate chain that Evergate serves, if it is known, and its source.
func (c *cluster) servedNow() (chain []*x509.Certificate, from string) {
	if len(c.served) > 0 {
		return c.served, "the certificate that the Service serves"
	}
	for secret := range c.servingSecrets {
		if chain, err := parseCertificates(secret.Data[corev1.TLSCertKey]); err == nil {
			return chain, c.ref(secret).String()
		}
	}
	return nil, ""
}
