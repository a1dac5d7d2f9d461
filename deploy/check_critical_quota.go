package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// criticalQuota: where Pods of a system- priority class run outside of kube-system, a ResourceQuota of the namespace
// has a scope for that class.
func criticalQuota() check {
	return check{
		id: "critical-quota", severity: Warning, modelled: true,
		finds: "a system priority class without a ResourceQuota that allows for it",
		why: "GKE, and any API server configured with LimitedResources, refuses critical Pods outside of " +
			"kube-system where no quota allows for them: there is a Deployment, and no replica",
		fix: "add a ResourceQuota with scopeSelector PriorityClass In [system-cluster-critical]",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				class := s.pod.PriorityClassName
				critical := class == "system-cluster-critical" || class == "system-node-critical"
				if critical && s.Namespace != metav1.NamespaceSystem && !c.allowsClass(s.Namespace, class) {
					r.warning(s.ref, "its priorityClassName is %s, and no ResourceQuota in %s allows for it", class,
						s.Namespace)
				}
			}
		},
	}
}

func (c *cluster) allowsClass(namespace, class string) bool {
	return slices.ContainsFunc(c.resourceQuotas, func(q *corev1.ResourceQuota) bool {
		return q.Namespace == namespace && q.Spec.ScopeSelector != nil &&
			slices.ContainsFunc(q.Spec.ScopeSelector.MatchExpressions, func(e corev1.ScopedResourceSelectorRequirement) bool {
				return e.ScopeName == corev1.ResourceQuotaScopePriorityClass && slices.Contains(e.Values, class)
			})
	})
}
