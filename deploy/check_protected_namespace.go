package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// protectedNamespace: no webhook of Evergate but the guard of the policy can match kube-system, kube-public,
// kube-node-lease, cert-manager's namespace or Evergate's own, whatever labels these bear: only a requirement on
// kubernetes.io/metadata.name, which the API server sets and no user can change, keeps a namespace out.
func protectedNamespace() check {
	return check{
		id: "protected-namespace", severity: Error,
		finds: "a webhook of Evergate that can match a namespace which nodes, the control plane, cert-manager or " +
			"Evergate itself live in",
		why: "when no replica answers, what brings one back is refused or waits for the timeout: the cluster " +
			"cannot heal. An opt-in label alone is no protection, since any user who may label the namespace can " +
			"set it",
		fix: "add to namespaceSelector.matchExpressions: {key: kubernetes.io/metadata.name, operator: NotIn, " +
			"values: […]} with all of them",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				if anything(h.NamespaceSelector) || h.guardsPolicy() {
					continue // no-namespace-selector, policy-guard
				}
				var matched []string
				for _, name := range c.protected() {
					if canSelect(h.NamespaceSelector, name) {
						matched = append(matched, name)
					}
				}
				if len(matched) > 0 {
					r.error(h.ref, "with failurePolicy %s its namespaceSelector can match %s%s", h.failurePolicy(),
						strings.Join(matched, ", "), c.deadlock(h, matched))
				}
			}
		},
	}
}

// deadlock names the worst case: none of its own Pods can be created while none answers.
func (c *cluster) deadlock(h *hook, matched []string) string {
	if h.closed() && h.covers("pods", admissionv1.Create) && slices.Contains(matched, c.namespace) {
		return ": while no replica answers, none can be created"
	}
	return ""
}
