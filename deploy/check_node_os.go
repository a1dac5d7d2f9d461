package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// nodeOS checks that the Pods select Linux nodes. The image has only a Linux binary, and Windows nodes do not need a
// taint.
func nodeOS() check {
	return check{
		id: "node-os", severity: Warning,
		finds: "Pods that may be scheduled to Windows nodes",
		why:   "the image is built for Linux. Replicas on a Windows node never start, and a rollout stops",
		fix:   "set nodeSelector: {" + corev1.LabelOSStable + ": linux} in the Pod template, as kustomize/base does",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			windows := slices.IndexFunc(c.nodes, func(n *corev1.Node) bool {
				return n.Labels[corev1.LabelOSStable] == string(corev1.Windows) && s.tolerates(n)
			})
			linux := s.only(corev1.LabelOSStable) == string(corev1.Linux) ||
				s.pod.OS != nil && s.pod.OS.Name == corev1.Linux
			if windows >= 0 && !linux {
				r.warning(s.ref, "its Pods may be scheduled to %s, which runs Windows", c.ref(c.nodes[windows]))
			}
		}),
	}
}

// tolerates reports whether the Pods of a server tolerate all taints of a node that keep new Pods off.
func (s *server) tolerates(n *corev1.Node) bool {
	return !slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule &&
			!slices.ContainsFunc(s.pod.Tolerations, func(t corev1.Toleration) bool {
				exists := t.Operator == corev1.TolerationOpExists
				return (t.Key == taint.Key || t.Key == "" && exists) && (exists || t.Value == taint.Value) &&
					(t.Effect == "" || t.Effect == taint.Effect)
			})
	})
}
