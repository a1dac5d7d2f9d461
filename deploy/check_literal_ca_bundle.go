package deploy

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// literalCABundle checks that no manifest of an Evergate webhook contains a caBundle. In a cluster the object always
// has a caBundle, because cert-manager writes it. The check then searches the manifest in the annotation of kubectl
// apply.
func literalCABundle() check {
	return check{
		id: "literal-ca-bundle", severity: Error,
		finds: "a caBundle in a manifest",
		why: "each apply of the manifest overwrites the caBundle that cert-manager has injected. After a renewal of " +
			"the CA, every call fails with x509: certificate signed by unknown authority",
		fix: "remove caBundle from the manifest. cert-manager sets it because of the annotation " +
			"cert-manager.io/inject-ca-from",
		run: func(c *cluster, r *reporter) {
			for config := range c.configs {
				if c.hasOwnCA(config) {
					continue
				}
				literal := slices.ContainsFunc(c.hooks, func(h *hook) bool { return h.config == config && h.hasCABundle() })
				if live(config) {
					literal = strings.Contains(config.GetAnnotations()[corev1.LastAppliedConfigAnnotation], `"caBundle"`)
				}
				if literal {
					r.error(c.ref(config), "its manifest contains a caBundle")
				}
			}
		},
	}
}
