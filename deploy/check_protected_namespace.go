package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// protectedNamespace checks that no Evergate webhook except the policy guard can match kube-system, kube-public,
// kube-node-lease, cert-manager's namespace or Evergate's namespace, whatever labels they have. Only a requirement on
// kubernetes.io/metadata.name excludes a namespace, because the API server sets this label and no user can change it.
func protectedNamespace() check {
	return check{
		id: "protected-namespace", severity: Error,
		finds: "an Evergate webhook that can match a namespace that the nodes, the control plane, cert-manager or " +
			"Evergate itself uses",
		why: "when no replica answers, the API server rejects or delays the writes that would bring a replica " +
			"back, so the cluster cannot recover. An opt-in label does not protect these namespaces, because " +
			"any user who may label a namespace can set it",
		fix: "add {key: kubernetes.io/metadata.name, operator: NotIn, values: […]} with all these namespaces to " +
			"namespaceSelector.matchExpressions",
		run: eachHook(func(c *cluster, h *hook, r *reporter) {
			if anything(h.NamespaceSelector) || h.guardsPolicy() {
				return // see the checks no-namespace-selector and policy-guard
			}
			matched := filter(c.protected(), func(name string) bool { return canSelect(h.NamespaceSelector, name) })
			if len(matched) > 0 {
				r.error(h.ref, "with failurePolicy %s its namespaceSelector can match %s%s", h.failurePolicy(),
					strings.Join(matched, ", "), c.deadlock(h, matched))
			}
		}),
	}
}

// deadlock returns the end of a sentence about the worst case: while no replica answers, the webhook prevents the
// creation of new replicas.
func (c *cluster) deadlock(h *hook, matched []string) string {
	if h.closed() && h.covers("pods", admissionv1.Create) && slices.Contains(matched, c.namespace) {
		return ": while no replica answers, none can be created"
	}
	return ""
}
