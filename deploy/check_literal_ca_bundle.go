package deploy

import (
	"slices"
	"strings"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
)

// literalCABundle: no manifest of Evergate's webhooks holds a caBundle. In a cluster it always does, since cert-manager
// writes it there: then the manifest is looked for in the annotation that kubectl apply leaves.
func literalCABundle() check {
	return check{
		id: "literal-ca-bundle", severity: Error,
		finds: "a caBundle that stands in a manifest",
		why: "each time the manifest is applied it takes back what cert-manager has injected since: after a " +
			"renewal of the CA every call fails with x509: certificate signed by unknown authority",
		fix: "remove caBundle from the manifest; the annotation cert-manager.io/inject-ca-from fills it in",
		run: func(c *cluster, r *reporter) {
			for config := range c.configs {
				if c.onlyURLs(config) && config.GetAnnotations()[certmanagerv1.WantInjectAnnotation] == "" {
					continue // nothing injects the CA of a URL
				}
				hasBundle := func(h *hook) bool { return h.config == config && len(h.ClientConfig.CABundle) > 0 }
				literal := slices.ContainsFunc(c.hooks, hasBundle)
				if live(config) {
					literal = strings.Contains(config.GetAnnotations()[corev1.LastAppliedConfigAnnotation], `"caBundle"`)
				}
				if literal {
					r.error(c.ref(config), "its manifest holds a caBundle")
				}
			}
		},
	}
}
