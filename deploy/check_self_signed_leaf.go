package deploy

// selfSignedLeaf checks that a CA signs the serving certificate. The certificate must not sign itself.
func selfSignedLeaf() check {
	return check{
		id: "self-signed-leaf", severity: Error,
		finds: "a serving certificate that is its own CA",
		why: "each renewal changes the certificate that the API server has to trust. The new caBundle does not match " +
			"the old certificate, which Pods serve for another minute or two, so every new connection fails during " +
			"this time",
		fix: "use this chain: SelfSigned Issuer → CA Certificate (isCA, rotationPolicy: Never) → CA Issuer → " +
			"serving Certificate",
		run: func(c *cluster, r *reporter) {
			for crt := range c.servingCertificates {
				if issuer, ok := c.issuerSpec(crt); ok && issuer.SelfSigned != nil {
					r.error(c.ref(crt), "its issuer, %s, is SelfSigned", issuerName(crt))
				}
			}
		},
	}
}
