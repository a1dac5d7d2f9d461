package deploy

import certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"

// caRotation: the Certificate of the CA keeps its key when it is renewed: rotationPolicy Never, which since
// cert-manager 1.18 has to be said.
func caRotation() check {
	return check{
		id: "ca-rotation", severity: Error,
		finds: "a CA Certificate whose key changes with each renewal",
		why: "certificates are not issued anew because their CA was: cert-manager publishes the new CA within " +
			"seconds, and the Pods serve what the old one signed. Every new connection fails until the leaf has " +
			"been renewed and projected",
		fix: "set privateKey.rotationPolicy: Never on the CA's Certificate (and Always on the leaf)",
		run: func(c *cluster, r *reporter) {
			for ca := range c.caCertificates {
				if key := ca.Spec.PrivateKey; key == nil || key.RotationPolicy != certmanagerv1.RotationPolicyNever {
					r.error(c.ref(ca), "its privateKey.rotationPolicy is not Never")
				}
			}
		},
	}
}
