package install

import (
	"cmp"
	"slices"

	"github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Certificate returns the Certificate that issues a Secret, or nil.
func (i *Install) Certificate(namespace, secret string) *certmanagerv1.Certificate {
	for _, crt := range In[*certmanagerv1.Certificate](i.Objects, namespace) {
		if crt.Spec.SecretName == secret {
			return crt
		}
	}
	return nil
}

// CertManager lists the namespaces that cert-manager runs in. If the input does not have its Deployments, it is the
// namespace in cert-manager's manifests.
func (i *Install) CertManager() []string {
	var names []string
	for _, d := range Of[*appsv1.Deployment](i.Objects) {
		if d.Labels[labelName] == "cert-manager" {
			names = append(names, d.Namespace)
		}
	}
	if len(names) == 0 {
		return []string{"cert-manager"}
	}
	return names
}

// Serving returns Evergate's serving Certificates.
func (i *Install) Serving() []*certmanagerv1.Certificate {
	var all []*certmanagerv1.Certificate
	for _, s := range i.Servers {
		if crt := i.Certificate(s.Namespace, s.TLSSecret()); crt != nil && !slices.Contains(all, crt) {
			all = append(all, crt)
		}
	}
	return all
}

// ServingSecrets returns the Secrets of --tls-cert that are in the input.
func (i *Install) ServingSecrets() []*corev1.Secret {
	var all []*corev1.Secret
	for _, s := range i.Servers {
		if secret := Find[*corev1.Secret](i.Objects, s.Namespace, s.TLSSecret()); secret != nil {
			all = append(all, secret)
		}
	}
	return all
}

// Issuer returns the issuer of a Certificate. ok is false if the input does not have it.
func (i *Install) Issuer(crt *certmanagerv1.Certificate) (spec certmanagerv1.IssuerSpec, ok bool) {
	name := crt.Spec.IssuerRef.Name
	if crt.Spec.IssuerRef.Kind == certmanagerv1.ClusterIssuerKind {
		if issuer := Find[*certmanagerv1.ClusterIssuer](i.Objects, "", name); issuer != nil {
			return issuer.Spec, true
		}
	} else if issuer := Find[*certmanagerv1.Issuer](i.Objects, crt.Namespace, name); issuer != nil {
		return issuer.Spec, true
	}
	return spec, false
}

// MayHaveIssuer reports whether the issuer of a Certificate exists, or may exist. Manifests do not need to contain a
// ClusterIssuer, and an issuer of another API group is not read.
func (i *Install) MayHaveIssuer(crt *certmanagerv1.Certificate) bool {
	issuer := crt.Spec.IssuerRef
	_, ok := i.Issuer(crt)
	return ok || !Live(crt) && issuer.Kind == certmanagerv1.ClusterIssuerKind ||
		issuer.Group != "" && issuer.Group != certmanager.GroupName
}

// IssuerName formats the kind and the name of a Certificate's issuer.
func IssuerName(crt *certmanagerv1.Certificate) string {
	return cmp.Or(crt.Spec.IssuerRef.Kind, certmanagerv1.IssuerKind) + " " + crt.Spec.IssuerRef.Name
}

// CAs returns the Certificates of the CA that signs a Certificate.
func (i *Install) CAs(leaf *certmanagerv1.Certificate) []*certmanagerv1.Certificate {
	issuer, ok := i.Issuer(leaf)
	if !ok || issuer.CA == nil {
		return nil
	}
	return Filter(Of[*certmanagerv1.Certificate](i.Objects), func(crt *certmanagerv1.Certificate) bool {
		reached := crt.Namespace == leaf.Namespace || leaf.Spec.IssuerRef.Kind == certmanagerv1.ClusterIssuerKind
		return reached && crt.Spec.SecretName == issuer.CA.SecretName
	})
}
