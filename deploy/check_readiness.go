package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// readiness checks that there is a readiness probe with HTTPS for /readyz on the port of --listen, and that no
// readiness gate keeps the Pods from becoming ready.
func readiness() check {
	return check{
		id: "readiness", severity: Error, needs: []premise{agreed()},
		finds: "a readiness probe that is missing, or uses a port, a scheme or a path that Evergate does not serve. " +
			"Preflight also warns about a readiness gate whose condition no Pod has",
		why: "the API server calls a replica before it can answer, or after it has stopped. If the probe uses another " +
			"port, the replica becomes ready before its TLS listener works. Such a race left 2% of Pods unchanged whenever " +
			"a node pool was replaced",
		fix: "probe httpGet: {path: /readyz, scheme: HTTPS} on the port of --listen, and remove readinessGates",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			for _, gate := range s.pod.ReadinessGates {
				if !c.hasCondition(s.Namespace, gate.ConditionType) {
					r.warning(s.ref, "its Pods have the readiness gate %s: no replica is ready until another controller sets this "+
						"condition", gate.ConditionType)
				}
			}
			probe := s.container.ReadinessProbe
			if probe == nil || probe.HTTPGet == nil {
				r.error(s.process, "it has no readinessProbe by httpGet")
				return
			}
			get := probe.HTTPGet
			if problem := s.misdirected(get, "listen"); problem != "" {
				r.error(s.process, "its readinessProbe %s", problem)
			}
			if get.Path != "/readyz" {
				r.error(s.process, "its readinessProbe uses the path %q, and /readyz reports whether it is ready", get.Path)
			}
		}),
	}
}

// hasCondition reports whether a Pod in a namespace has a condition of a type.
func (c *cluster) hasCondition(namespace string, t corev1.PodConditionType) bool {
	return slices.ContainsFunc(c.pods, func(p *corev1.Pod) bool {
		return p.Namespace == namespace &&
			slices.ContainsFunc(p.Status.Conditions, func(cond corev1.PodCondition) bool { return cond.Type == t })
	})
}
