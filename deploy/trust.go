package deploy

import (
	"crypto/x509"
	"slices"
	"strings"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/certs"
	"github.com/evergate/evergate/deploy/install"
)

// trust inspects whether the API server trusts the serving certificate, now and after a renewal.
func (i *inspection) trust() {
	reported := map[string]bool{} // each wrong value once for all configurations
	for config := range i.Configs {
		annotations := config.GetAnnotations()
		if i.hasOwnCA(config) {
			continue
		}
		literal := slices.ContainsFunc(i.Hooks, func(h *install.Hook) bool {
			return h.Config == config && h.ClientConfig.CABundle != nil // also if it is empty
		})
		if install.Live(config) { // cert-manager has written it
			literal = strings.Contains(annotations[corev1.LastAppliedConfigAnnotation], `"caBundle"`)
		}
		i.errorIf(literal, "literal-ca-bundle", i.Ref(config), "its manifest contains a caBundle")
		value := annotations[certmanagerv1.WantInjectAnnotation]
		problem := i.injectorProblem(value)
		if problem != "" && annotations[certmanagerv1.WantInjectFromSecretAnnotation] == "" && !reported[value] {
			reported[value] = value != ""
			i.error("ca-injector", i.Ref(config), "%s", problem)
		}
	}
	chain, from := i.Served, "the certificate that the Service serves"
	for _, secret := range i.ServingSecrets() {
		if parsed, err := certs.Parse(secret.Data[corev1.TLSCertKey]); err == nil && len(chain) == 0 {
			chain, from = parsed, i.Ref(secret).String()
		}
	}
	for _, h := range i.Hooks {
		switch {
		case !install.Live(h.Config) || h.ClientConfig.Service == nil:
		case !hasCA(h):
			i.error("served-chain", h.Ref, "its caBundle is empty: cert-manager has not injected the CA")
		case inDate(chain, i.Now): // see expiry for other certificates
			err := certs.Verify(chain, h.ClientConfig.CABundle, h.DNSName(), i.Now)
			i.errorIf(err != nil, "served-chain", h.Ref, "its caBundle does not verify %s: %v", from, err)
		}
	}
}

// inDate reports whether a time is in the validity period of the leaf of a chain. It is false without a chain.
func inDate(chain []*x509.Certificate, now time.Time) bool {
	return len(chain) > 0 && !now.Before(chain[0].NotBefore) && !now.After(chain[0].NotAfter)
}

// injectorProblem returns the problem with the annotation of cert-manager's CA injector. It is "" if its value is right,
// and if the Deployment or the Secret of the Certificate is missing, which is another finding.
func (i *inspection) injectorProblem(value string) string {
	const is = certmanagerv1.WantInjectAnnotation + " is "
	namespace, name, ok := strings.Cut(value, "/")
	crt := install.Find[*certmanagerv1.Certificate](i.Objects, namespace, name)
	switch {
	case len(i.Servers) == 0 && len(i.Elsewhere) > 0:
		return ""
	case slices.ContainsFunc(i.Servers, func(s *install.Server) bool { return !i.hasSecret(s) }):
		return ""
	case value == "":
		return "it has no annotation " + certmanagerv1.WantInjectAnnotation
	case !ok:
		return is + value + ", which is not <namespace>/<Certificate>"
	case crt == nil:
		return is + "the Certificate " + value + ", which does not exist"
	}
	for _, s := range i.Servers {
		if secret := s.TLSSecret(); secret != "" && (s.Namespace != namespace || secret != crt.Spec.SecretName) {
			return is + "the Certificate " + value + ", whose Secret " + crt.Spec.SecretName + " is not the Secret that " +
				s.Ref.String() + " serves with"
		}
	}
	return ""
}

func hasCA(h *install.Hook) bool { return len(h.ClientConfig.CABundle) > 0 }

// hasOwnCA reports whether cert-manager does not inject the CA of a webhook configuration. This is so if no annotation
// requests it, and if no Certificate issues a Secret that Evergate serves with or all webhooks call URLs, whose
// certificates another CA may have signed.
func (i *inspection) hasOwnCA(config install.Object) bool {
	annotations := config.GetAnnotations()
	if annotations[certmanagerv1.WantInjectAnnotation]+annotations[certmanagerv1.WantInjectFromSecretAnnotation] != "" {
		return false
	}
	is := install.Filter(i.Hooks, func(h *install.Hook) bool { return h.Config == config })
	return !slices.ContainsFunc(is, func(h *install.Hook) bool { return h.URL == "" }) ||
		len(i.Serving()) == 0 && !slices.ContainsFunc(is, func(h *install.Hook) bool { return !hasCA(h) })
}

// hasSecret reports whether the input has the Secret that contains --tls-cert of a server, or a Certificate for it. It
// also returns true if the flag is not known, and for manifests that contain the CA, because another PKI then creates
// the Secret.
func (i *inspection) hasSecret(s *install.Server) bool {
	if s.Settings.TLSCert == "" || !s.Settings.Known("tls-cert") {
		return true
	}
	ownCAs := !slices.ContainsFunc(i.Hooks, func(h *install.Hook) bool { return !hasCA(h) || !i.hasOwnCA(h.Config) })
	secret := s.TLSSecret()
	return secret != "" && (i.HasSecret(s.Namespace, secret) || !i.Live && ownCAs)
}
