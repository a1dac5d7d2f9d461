package deploy

// certificateMissing checks that --tls-cert is in a mounted Secret that exists or that a Certificate issues, and that
// the issuer of the Certificate exists. A ClusterIssuer may exist in the cluster that manifests are made for.
func certificateMissing() check {
	return check{
		id: "certificate", severity: Error,
		finds: "a serving certificate for which there is neither a Certificate resource nor a Secret, or whose issuer " +
			"does not exist",
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
			}
		}),
	}
}
