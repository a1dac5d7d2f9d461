package deploy

import (
	"slices"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
)

// checkIssuer reports an issuer that cannot sign a serving Certificate. In a cluster, an issuer without a known type
// may have a newer type.
func (c *cluster) checkIssuer(crt *certmanagerv1.Certificate, r *reporter) {
	at, name := c.ref(crt), issuerName(crt)
	issuer, ok := c.issuerSpec(crt)
	switch {
	case !c.mayHaveIssuer(crt):
		r.error(at, "its issuer, %s, does not exist", name)
	case ok && issuer.ACME != nil:
		r.error(at, "its issuer, %s, uses ACME: cert-manager does not write a ca.crt, so the API server does not trust the "+
			"certificate", name)
	case ok && issuer.IssuerConfig == (certmanagerv1.IssuerConfig{}) && !live(crt):
		r.error(at, "its issuer, %s, does not have a type: set spec.ca.secretName of the issuer", name)
	case ok && issuer.CA != nil:
		c.checkCA(crt, issuer.CA.SecretName, r)
	}
}

// checkCA reports a CA that cannot sign a serving Certificate. secret is the Secret of its issuer.
func (c *cluster) checkCA(crt *certmanagerv1.Certificate, secret string, r *reporter) {
	for ca, leaf := range c.caCertificates {
		if leaf != crt {
			continue
		}
		if !ca.Spec.IsCA {
			r.error(c.ref(ca), "isCA is not true, and the issuer of %s, %s, signs with its Secret %s", c.ref(crt),
				issuerName(crt), secret)
		}
		if !c.mayHaveIssuer(ca) {
			r.error(c.ref(ca), "its issuer, %s, does not exist", issuerName(ca))
		}
	}
	namespaces := []string{crt.Namespace}
	if crt.Spec.IssuerRef.Kind == certmanagerv1.ClusterIssuerKind {
		namespaces = c.certManagerNamespaces()
	}
	exists := slices.ContainsFunc(namespaces, func(namespace string) bool {
		return c.certificate(namespace, secret) != nil || find(c.secrets, namespace, secret) != nil
	})
	if exists || live(crt) { // in a cluster, see the check certificate-expiry
		return
	}
	// The Secret may exist although the input does not contain it, so only a CA that seems to be meant is reported.
	for _, ca := range c.certificates {
		switch {
		case !ca.Spec.IsCA || ca == crt:
		case ca.Spec.SecretName == secret:
			r.warning(c.ref(crt), "its issuer, %s, reads the Secret %s in the namespace %s, and %s issues it in another "+
				"namespace", issuerName(crt), secret, oneOf(namespaces), c.ref(ca))
		case ca.Namespace == crt.Namespace && !c.usedByIssuer(ca):
			r.warning(c.ref(crt), "its issuer, %s, reads the Secret %s, which no Certificate issues, and no issuer uses the "+
				"Secret %s of %s", issuerName(crt), secret, ca.Spec.SecretName, c.ref(ca))
		}
	}
}

// usedByIssuer reports whether an issuer signs with the Secret of a CA Certificate.
func (c *cluster) usedByIssuer(ca *certmanagerv1.Certificate) bool {
	uses := func(spec certmanagerv1.IssuerSpec) bool {
		return spec.CA != nil && spec.CA.SecretName == ca.Spec.SecretName
	}
	return slices.ContainsFunc(c.issuers, func(i *certmanagerv1.Issuer) bool {
		return i.Namespace == ca.Namespace && uses(i.Spec)
	}) || slices.ContainsFunc(c.clusterIssuers, func(i *certmanagerv1.ClusterIssuer) bool { return uses(i.Spec) })
}
