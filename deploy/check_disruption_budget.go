package deploy

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// disruptionBudget checks that exactly one PodDisruptionBudget selects the Pods, that it allows the eviction of at
// least one Pod but not of every Pod, and that it always allows the eviction of Pods that are not ready.
func disruptionBudget() check {
	return check{
		id: "disruption-budget", severity: Error, needs: []premise{coherent(), selected()},
		finds: "a PodDisruptionBudget that is missing, conflicts with the number of replicas, or holds up drains",
		why: "without a budget, a drain of several nodes evicts all replicas together. A budget that does not allow " +
			"any eviction holds up every drain forever, and with it every node upgrade. The API server does not " +
			"evict a Pod that two budgets select",
		fix: "use one PodDisruptionBudget with maxUnavailable: 1 and unhealthyPodEvictionPolicy: AlwaysAllow",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			s.checkEvictable(r)
			switch {
			case s.replicas() < 2: // a budget for one replica blocks its drain: see the check single-replica
			case len(s.budgets) == 0:
				r.warning(s.ref, "no PodDisruptionBudget selects its Pods")
			case len(s.budgets) > 1:
				r.error(c.ref(s.budgets[1]), "its Pods are selected by %s too", c.ref(s.budgets[0]))
			default:
				s.checkBudget(c.ref(s.budgets[0]), &s.budgets[0].Spec, r)
			}
		}),
	}
}

// checkEvictable reports annotations that make autoscalers of nodes keep a node while the Pod runs on it. They
// then neither scale down nor replace the node, although the budget allows the eviction.
func (s *server) checkEvictable(r *reporter) {
	annotations := s.Spec.Template.Annotations
	for _, keeping := range [][2]string{
		{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"},
		{"karpenter.sh/do-not-disrupt", "true"},
		{"karpenter.sh/do-not-evict", "true"},
	} {
		if key, value := keeping[0], keeping[1]; annotations[key] == value {
			r.warning(s.ref, "the annotation %s: %q of its Pod template keeps every node with a replica from being replaced",
				key, value)
		}
	}
}

func (s *server) checkBudget(at ref, b *policyv1.PodDisruptionBudgetSpec, r *reporter) {
	replicas := s.replicas()
	mayGo := replicas
	switch {
	case b.MaxUnavailable != nil:
		mayGo = scaled(b.MaxUnavailable, replicas, true) // as the API server rounds both
	case b.MinAvailable != nil:
		mayGo = replicas - scaled(b.MinAvailable, replicas, true)
	}
	switch {
	case mayGo <= 0:
		r.error(at, "%s does not let any of the %d replicas of %s be evicted", budgetLimit(b), replicas, s.ref)
	case mayGo >= replicas:
		r.error(at, "%s lets all %d replicas of %s be evicted at the same time", budgetLimit(b), replicas, s.ref)
	}
	if b.UnhealthyPodEvictionPolicy == nil || *b.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
		r.warning(at,
			"unhealthyPodEvictionPolicy is not AlwaysAllow: a replica that never becomes ready holds up the drain of its node")
	}
}

// budgetLimit returns the limit as it is in the manifest, for example maxUnavailable: 1.
func budgetLimit(b *policyv1.PodDisruptionBudgetSpec) string {
	limit := func(name string, n *intstr.IntOrString) string { return name + ": " + n.String() }
	switch {
	case b.MaxUnavailable != nil:
		return limit("maxUnavailable", b.MaxUnavailable)
	case b.MinAvailable != nil:
		return limit("minAvailable", b.MinAvailable)
	}
	return "without a limit it"
}
