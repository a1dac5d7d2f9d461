package deploy

import certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"

// certificateKey checks that the key of the serving Certificate is ECDSA P-256.
func certificateKey() check {
	return check{
		id: "certificate-key", severity: Warning,
		finds: "a serving Certificate whose key is not ECDSA P-256",
		why: "the API server does not resume TLS sessions, so each new connection needs a full handshake. With RSA, " +
			"a handshake costs ten times as much, and many handshakes happen together when a replica stops. Not " +
			"every client supports Ed25519",
		fix: "set privateKey: {algorithm: ECDSA, size: 256}",
		run: func(c *cluster, r *reporter) {
			for crt := range c.servingCertificates {
				algorithm, size := certmanagerv1.RSAKeyAlgorithm, 0 // cert-manager's default
				if key := crt.Spec.PrivateKey; key != nil && key.Algorithm != "" {
					algorithm, size = key.Algorithm, key.Size
				}
				if algorithm != certmanagerv1.ECDSAKeyAlgorithm {
					r.warning(c.ref(crt), "its key is %s", algorithm)
				} else if size != 0 && size != 256 {
					r.warning(c.ref(crt), "its key is ECDSA P-%d", size)
				}
			}
		},
	}
}
