package deploy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// otherEverything checks that no webhook of another product matches every resource in every API group, including
// kube-system. Such a webhook is dangerous even if it fails open: while it does not answer, it delays each write by
// its timeout, which is too long for leases and the API server's ConfigMaps. The check does not evaluate whether
// matchConditions exclude kube-system.
func otherEverything() check {
	return check{
		id: "other-webhook-everything", severity: Warning,
		finds: "a webhook of another product that matches every resource, including resources in kube-system",
		why: "when the webhook does not answer, nodes and the control plane cannot write the objects that they " +
			"depend on, for example the ConfigMap kube-system/extension-apiserver-authentication. API servers then " +
			"restart in a loop, and Evergate cannot prevent that",
		fix: "list the resources in its rules, and exclude kube-system by kubernetes.io/metadata.name in its " +
			"namespaceSelector",
		run: func(c *cluster, r *reporter) {
			system := c.namespaceLabels(metav1.NamespaceSystem)
			for _, h := range c.all {
				if !h.ours && slices.ContainsFunc(h.Rules, coversEverything) && selects(h.NamespaceSelector, system) {
					r.warning(h.ref, "it matches every resource, including in kube-system, with failurePolicy %s%s",
						h.failurePolicy(), unlessConditions(h))
				}
			}
		},
	}
}
