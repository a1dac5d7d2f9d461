package deploy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// otherEverything: no webhook of another product matches every resource in every API group, kube-system included. It
// need not fail closed: one that does not answer delays each write by its timeout, which is more than leases and the
// API server's own ConfigMaps can bear. Whether matchConditions exclude kube-system is not evaluated.
func otherEverything() check {
	return check{
		id: "other-webhook-everything", severity: Warning,
		finds: "a webhook of another product that matches every resource, in kube-system too",
		why: "when it does not answer, nodes and the control plane cannot write what they live by, such as the " +
			"ConfigMap kube-system/extension-apiserver-authentication: API servers then restart in a loop, and no " +
			"other webhook helps",
		fix: "name the resources in its rules, and exclude kube-system by kubernetes.io/metadata.name in its " +
			"namespaceSelector",
		run: func(c *cluster, r *reporter) {
			system := c.namespaceLabels(metav1.NamespaceSystem)
			for _, h := range c.all {
				if !h.ours && slices.ContainsFunc(h.Rules, coversEverything) && selects(h.NamespaceSelector, system) {
					r.warning(h.ref, "it matches every resource, kube-system included, with failurePolicy %s%s",
						h.failurePolicy(), unlessConditions(h))
				}
			}
		},
	}
}
