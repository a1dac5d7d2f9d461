package deploy

import (
	"strings"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
)

// caInjector: each webhook configuration has the annotation cert-manager.io/inject-ca-from with the namespace and
// name of a Certificate that exists, and whose Secret is the one that Evergate serves with. Injection from a Secret
// (inject-ca-from-secret) is not checked.
func caInjector() check {
	return check{
		id: "ca-injector", severity: Error, needs: []premise{together(), certified()},
		finds: "a webhook configuration whose CA is injected from nowhere, or from another Certificate than is " +
			"served",
		why: "caBundle stays empty or wrong, and the API server trusts no answer: failing closed, everything " +
			"matched is refused; failing open, nothing is checked, without a word to the user",
		fix: "annotate it with cert-manager.io/inject-ca-from: NAMESPACE/CERTIFICATE, the one that issues the " +
			"Secret of --tls-cert",
		run: func(c *cluster, r *reporter) {
			reported := map[string]bool{} // what is wrong with a value, once for all configurations
			for config := range c.configs {
				annotations := config.GetAnnotations()
				value := annotations[certmanagerv1.WantInjectAnnotation]
				if annotations[certmanagerv1.WantInjectFromSecretAnnotation] != "" || reported[value] {
					continue
				}
				if value == "" && c.onlyURLs(config) {
					continue // another CA may have signed the certificate of a URL
				}
				if problem := c.injectorProblem(value); problem != "" {
					reported[value] = value != ""
					r.error(c.ref(config), "%s", problem)
				}
			}
		},
	}
}

// injectorProblem returns what is wrong with the value of the annotation; "" when it is right.
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
		return certmanagerv1.WantInjectAnnotation + " names the Certificate " + value + ", which does not exist"
	}
	for _, s := range c.servers {
		secret := s.tlsSecret()
		if secret != "" && (s.Namespace != namespace || secret != crt.Spec.SecretName) {
			return certmanagerv1.WantInjectAnnotation + " names the Certificate " + value + ", whose Secret " +
				crt.Spec.SecretName + " is not what " + s.ref.String() + " serves with"
		}
	}
	return ""
}
