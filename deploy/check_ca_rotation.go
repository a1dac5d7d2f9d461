package deploy

import certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"

// caRotation checks that the CA Certificate keeps its key when it is renewed. Since cert-manager 1.18 this requires
// an explicit rotationPolicy Never.
func caRotation() check {
	return check{
		id: "ca-rotation", severity: Error,
		finds: "a CA Certificate whose key changes with each renewal",
		why: "cert-manager does not reissue a certificate when its CA changes. It publishes the new CA within " +
			"seconds, while the Pods still serve the certificate that the old CA signed. Every new connection fails " +
			"until the serving certificate has been renewed and the kubelet has updated it in the Pods",
		fix: "set privateKey.rotationPolicy: Never on the CA Certificate, and Always on the serving Certificate",
		run: func(c *cluster, r *reporter) {
			for ca := range c.caCertificates {
				if key := ca.Spec.PrivateKey; key == nil || key.RotationPolicy != certmanagerv1.RotationPolicyNever {
					r.error(c.ref(ca), "its privateKey.rotationPolicy is not Never")
				}
			}
		},
	}
}
