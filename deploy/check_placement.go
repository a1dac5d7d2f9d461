package deploy

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// placement checks that the replicas do not all run on one node, or in one zone if nodes in another zone are
// schedulable.
func placement() check {
	return check{
		id: "placement", severity: Warning, live: true,
		finds: "replicas that all run on one node, or in one zone",
		why:   "if this node or zone fails, no replica is left",
		fix: "spread the replicas. If the Deployment has topologySpreadConstraints, kubectl rollout restart is " +
			"enough",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
				values, pods := c.runsIn(s, key)
				if pods > 1 && len(values) == 1 && c.domains(s, key) > 1 {
					r.warning(s.ref, "all its %d Pods run on nodes with %s=%s", pods, key, strings.Join(values, ""))
				}
			}
		}),
	}
}

// runsIn returns the values of a label on the nodes of a Deployment's Pods, and the number of running Pods.
func (c *cluster) runsIn(s *server, label string) (values []string, pods int) {
	seen := map[string]bool{}
	for _, p := range c.pods {
		node := find(c.nodes, "", p.Spec.NodeName)
		if p.Namespace != s.Namespace || node == nil || p.Status.Phase != corev1.PodRunning ||
			!containsAll(p.Labels, s.Spec.Selector.MatchLabels) {
			continue
		}
		pods++
		if v := node.Labels[label]; !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values, pods
}
