package deploy

import (
	"strings"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
)

// caInjector checks that each webhook configuration has the annotation cert-manager.io/inject-ca-from with the
// namespace and name of an existing Certificate, and that Evergate serves with the Secret of this Certificate. It
// does not check injection from a Secret (inject-ca-from-secret).
func caInjector() check {
	return check{
		id: "ca-injector", severity: Error, needs: []premise{together(), certified()},
		finds: "a webhook configuration without an injected CA, or with the CA of a Certificate that Evergate does " +
			"not use for serving",
		why: "caBundle stays empty or wrong, and the API server does not trust any answer. If the webhook fails " +
			"closed, the API server rejects every matching request. If it fails open, nothing is checked, and users " +
			"do not notice",
		fix: "set the annotation cert-manager.io/inject-ca-from to NAMESPACE/NAME of the Certificate whose Secret " +
			"contains the file of --tls-cert",
		run: func(c *cluster, r *reporter) {
			reported := map[string]bool{} // each wrong value once for all configurations
			for config := range c.configs {
				annotations := config.GetAnnotations()
				value := annotations[certmanagerv1.WantInjectAnnotation]
				if annotations[certmanagerv1.WantInjectFromSecretAnnotation] != "" || reported[value] || c.hasOwnCA(config) {
					continue
				}
				if problem := c.injectorProblem(value); problem != "" {
					reported[value] = value != ""
					r.error(c.ref(config), "%s", problem)
				}
			}
		},
	}
}

// injectorProblem returns the problem with the value of the annotation, or "" if the value is right.
func (c *cluster) injectorProblem(value string) string {
	if value == "" {
		return "it has no annotation " + certmanagerv1.WantInjectAnnotation
	}
	namespace, name, ok := strings.Cut(value, "/")
	if !ok {
		return certmanagerv1.WantInjectAnnotation + " is " + value + ", which is not <namespace>/<Certificate>"
	}
	crt := find(c.certificates, namespace, name)
	if crt == nil {
		return certmanagerv1.WantInjectAnnotation + " is the Certificate " + value + ", which does not exist"
	}
	for _, s := range c.servers {
		secret := s.tlsSecret()
		if secret != "" && (s.Namespace != namespace || secret != crt.Spec.SecretName) {
			return certmanagerv1.WantInjectAnnotation + " is the Certificate " + value + ", whose Secret " +
				crt.Spec.SecretName + " is not the Secret that " + s.ref.String() + " serves with"
		}
	}
	return ""
}
