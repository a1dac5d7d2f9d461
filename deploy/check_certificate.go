package deploy

import "slices"

// certificateMissing checks that --tls-cert is in a mounted Secret that exists or that a Certificate issues, and that
// the issuer of the Certificate exists. A ClusterIssuer may exist in the cluster that manifests are made for, and so
// may the Secret if the manifests contain the CA: see hasSecret. It also checks that --tls-cert and --tls-key are files
// that cert-manager writes to this Secret and that the volume contains.
func certificateMissing() check {
	return check{
		id: "certificate", severity: Error,
		finds: "a --tls-cert or --tls-key that is not in a mounted Secret, a Secret that does not exist and that no " +
			"Certificate issues, and an issuer that does not exist or uses ACME",
		why: "the Pods wait for a Secret that is never created, or serve a certificate that is never renewed",
		fix: "add the component cert-manager, or create the Secret with the keys tls.crt, tls.key and ca.crt",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			if s.settings.TLSCert == "" || !s.settings.Known("tls-cert") {
				return // see the check serve-flags
			}
			secret := s.tlsSecret()
			crt := c.certificate(s.Namespace, secret)
			switch {
			case secret == "":
				r.error(s.process, "--tls-cert=%s is not in a mounted Secret", s.settings.TLSCert)
			case !c.hasSecret(s):
				r.error(s.process, "no Certificate issues the Secret %s, which contains --tls-cert", secret)
			case crt != nil && !c.mayHaveIssuer(crt):
				r.error(c.ref(crt), "its issuer, %s, does not exist", issuerName(crt))
			case crt != nil && c.isACME(crt):
				r.error(c.ref(crt), "its issuer, %s, uses ACME: cert-manager does not write a ca.crt, so the API server does not "+
					"trust the certificate", issuerName(crt))
			case crt != nil && len(crt.Spec.AdditionalOutputFormats) == 0:
				s.checkTLSFiles(secret, r)
			}
		}),
	}
}

// checkTLSFiles reports flags whose value is not a file that cert-manager writes to the Secret.
func (s *server) checkTLSFiles(secret string, r *reporter) {
	for _, f := range []struct{ flag, file string }{
		{"tls-cert", s.settings.TLSCert}, {"tls-key", s.settings.TLSKey},
	} {
		inSecret, key := s.secretFile(f.file)
		written := inSecret == secret && slices.Contains([]string{"tls.crt", "tls.key", "ca.crt"}, key)
		if s.settings.Known(f.flag) && !written {
			r.error(s.process, "--%s=%s is not a mounted file of the Secret %s, which contains tls.crt, tls.key and ca.crt",
				f.flag, printable(f.file), secret)
		}
	}
}
