package deploy

import (
	"crypto/x509"
	"fmt"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	corev1 "k8s.io/api/core/v1"
)

// overdue is how late a renewal may be before it counts as failed. cert-manager retries within the hour.
const overdue = 2 * time.Hour

// certificateExpiry checks that the served certificate is in date, that its Certificate is ready, and that
// cert-manager renewed it when it was due. The check served-chain reports an expired CA.
func certificateExpiry() check {
	return check{
		id: "certificate-expiry", severity: Error, live: true,
		finds: "a serving certificate that has expired, or whose renewal is overdue",
		why:   "as soon as the certificate expires, every call to every replica fails",
		fix: "check the events of the Certificate and its CertificateRequests with kubectl describe or cmctl status " +
			"certificate",
		run: func(c *cluster, r *reporter) {
			for secret := range c.servingSecrets {
				if chain, err := parseCertificates(secret.Data[corev1.TLSCertKey]); err != nil {
					r.error(c.ref(secret), "its tls.crt cannot be read: %v", err)
				} else if !inDate(chain[0], c.now) {
					r.error(c.ref(secret), "its certificate is %s", c.validity(chain[0]))
				}
			}
			if len(c.served) > 0 && !inDate(c.served[0], c.now) {
				r.error(c.anchor(), "the certificate that its Service serves is %s", c.validity(c.served[0]))
			}
			for crt := range c.servingCertificates {
				for _, condition := range crt.Status.Conditions {
					if condition.Type == certmanagerv1.CertificateConditionReady && condition.Status != cmmeta.ConditionTrue {
						r.error(c.ref(crt), "it is not ready: %s", condition.Message)
					}
				}
				if due := crt.Status.RenewalTime; due != nil && c.now.Sub(due.Time) > overdue {
					r.warning(c.ref(crt), "its renewal was due at %s", stamp(due.Time))
				}
			}
		},
	}
}

func (c *cluster) validity(cert *x509.Certificate) string {
	return fmt.Sprintf("valid from %s to %s, and it is %s", stamp(cert.NotBefore), stamp(cert.NotAfter), stamp(c.now))
}
