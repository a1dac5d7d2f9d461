package deploy

// selfSignedLeaf: the serving certificate is signed by a CA, not by itself.
func selfSignedLeaf() check {
	return check{
		id: "self-signed-leaf", severity: Error,
		finds: "a serving certificate that is its own CA",
		why: "each renewal changes what the API server has to trust: the new caBundle and the old certificate, " +
			"which Pods serve for another minute or two, do not fit, and every new connection fails",
		fix: "SelfSigned Issuer → CA Certificate (isCA, rotationPolicy: Never) → CA Issuer → serving Certificate",
		run: func(c *cluster, r *reporter) {
			for crt := range c.servingCertificates {
				if issuer, ok := c.issuerSpec(crt); ok && issuer.SelfSigned != nil {
					r.error(c.ref(crt), "its issuer, %s, is SelfSigned", issuerName(crt))
				}
			}
		},
	}
}
