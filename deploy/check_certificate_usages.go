package deploy

import (
	"slices"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
)

// certificateUsages checks that the serving Certificate requests the usage server auth, or no extended usage, which
// allows any, and that it is not a CA.
func certificateUsages() check {
	return check{
		id: "certificate-usages", severity: Error,
		finds: "a serving Certificate whose usages do not allow server auth, or that sets isCA",
		why: "clients reject a certificate whose extended usages do not include server auth. If the certificate " +
			"is a CA, the key in every Pod can sign certificates that every client of this CA accepts",
		fix: "set usages: [server auth], and leave out isCA",
		run: func(c *cluster, r *reporter) {
			for crt := range c.servingCertificates {
				if !forServers(crt.Spec.Usages) {
					r.error(c.ref(crt), "its usages lack server auth")
				}
				if crt.Spec.IsCA {
					r.error(c.ref(crt), "isCA is true")
				}
			}
		},
	}
}

// forServers reports whether servers can use a certificate with these usages.
func forServers(usages []certmanagerv1.KeyUsage) bool {
	isServer := func(u certmanagerv1.KeyUsage) bool {
		return u == certmanagerv1.UsageServerAuth || u == certmanagerv1.UsageAny
	}
	isOther := func(u certmanagerv1.KeyUsage) bool {
		return slices.Contains([]certmanagerv1.KeyUsage{
			certmanagerv1.UsageClientAuth, certmanagerv1.UsageCodeSigning, certmanagerv1.UsageEmailProtection,
			certmanagerv1.UsageSMIME, certmanagerv1.UsageIPsecEndSystem, certmanagerv1.UsageIPsecTunnel,
			certmanagerv1.UsageIPsecUser, certmanagerv1.UsageTimestamping, certmanagerv1.UsageOCSPSigning,
			certmanagerv1.UsageMicrosoftSGC, certmanagerv1.UsageNetscapeSGC,
		}, u)
	}
	return slices.ContainsFunc(usages, isServer) || !slices.ContainsFunc(usages, isOther)
}
