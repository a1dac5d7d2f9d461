package deploy

import (
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
)

// minRenewBefore is how long a renewal may fail before clients notice: a long weekend.
const minRenewBefore = 72 * time.Hour

// certificateDurations checks that the serving Certificate is renewed 72 h or more before it expires, but not all the
// time, and that the CA is renewed before a certificate that it signs could outlive it.
func certificateDurations() check {
	return check{
		id: "certificate-durations", severity: Error,
		finds: "Certificate durations that do not leave time for a renewal, or that let a certificate outlive its CA",
		why: "an expired certificate fails every call. A certificate that outlives its CA fails every call as " +
			"soon as the CA expires",
		fix: "on the serving Certificate, set duration 2160h and renewBefore 720h. On the CA Certificate, set " +
			"duration 87600h and a renewBefore above the duration of the serving Certificate",
		run: func(c *cluster, r *reporter) {
			for crt := range c.servingCertificates {
				switch lifetime, before := durations(crt); {
				case before >= lifetime:
					r.error(c.ref(crt), "renewBefore %s is not below duration %s", hours(before), hours(lifetime))
				case before < minRenewBefore:
					r.warning(c.ref(crt), "it is renewed %s before it expires, and a renewal may fail for longer",
						hours(before))
				}
			}
			for ca, leaf := range c.caCertificates {
				lasts, before := durations(ca)
				if before >= lasts {
					r.error(c.ref(ca), "renewBefore %s is not below duration %s", hours(before), hours(lasts))
				}
				if lifetime, _ := durations(leaf); before < lifetime {
					r.error(c.ref(ca), "it is renewed %s before it expires, and %s, which it signs, is valid for %s",
						hours(before), c.ref(leaf),
						hours(lifetime))
				}
			}
		},
	}
}

// durations returns how long a Certificate is valid, and how long before its expiry it is renewed.
func durations(crt *certmanagerv1.Certificate) (lifetime, before time.Duration) {
	lifetime = certmanagerv1.DefaultCertificateDuration
	if crt.Spec.Duration != nil {
		lifetime = crt.Spec.Duration.Duration
	}
	switch {
	case crt.Spec.RenewBefore != nil:
		return lifetime, crt.Spec.RenewBefore.Duration
	case crt.Spec.RenewBeforePercentage != nil:
		return lifetime, lifetime * time.Duration(*crt.Spec.RenewBeforePercentage) / 100
	}
	return lifetime, lifetime / 3 // cert-manager's default
}
