package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// criticalQuota checks that a ResourceQuota of the namespace has a scope for the priority class, if Pods with a
// system- priority class run outside kube-system.
func criticalQuota() check {
	return check{
		id: "critical-quota", severity: Warning, modelled: true,
		finds: "a system priority class that no ResourceQuota allows",
		why: "GKE, and any API server with limitedResources in its configuration, rejects critical Pods outside " +
			"kube-system if no quota allows them. The Deployment exists but does not get any replicas",
		fix: "add a ResourceQuota with a scopeSelector for PriorityClass In [system-cluster-critical]",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			class := s.pod.PriorityClassName
			critical := class == "system-cluster-critical" || class == "system-node-critical"
			if critical && s.Namespace != metav1.NamespaceSystem && !c.allowsClass(s.Namespace, class) {
				r.warning(s.ref, "its priorityClassName is %s, and no ResourceQuota in %s allows it", class,
					s.Namespace)
			}
		}),
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
