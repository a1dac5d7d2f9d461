package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// nodeOS checks that no Windows node takes the Pods. The image has only a Linux binary, and Windows nodes do not need a
// taint. The scheduler does not read the field os of a Pod.
func nodeOS() check {
	return check{
		id: "node-os", severity: Warning,
		finds: "Pods that may be scheduled to Windows nodes",
		why:   "the image is built for Linux. Replicas on a Windows node never start, and a rollout stops",
		fix:   "set nodeSelector: {" + corev1.LabelOSStable + ": linux} in the Pod template, as kustomize/base does",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			windows := slices.IndexFunc(c.nodes, func(n *corev1.Node) bool {
				return n.Labels[corev1.LabelOSStable] == string(corev1.Windows) && s.fits(n)
			})
			if windows >= 0 {
				r.warning(s.ref, "its Pods may be scheduled to %s, which runs Windows", c.ref(c.nodes[windows]))
			}
		}),
	}
}
