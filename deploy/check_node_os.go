package deploy

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// nodeOS checks that no node takes the Pods whose operating system or architecture the image is not built for. Such
// nodes do not need a taint. The scheduler does not read the field os of a Pod or its image. An image that already runs
// on an architecture is built for it.
func nodeOS() check {
	return check{
		id: "node-os", severity: Warning,
		finds: "Pods that may be scheduled to Windows nodes, or to nodes with another architecture than amd64 and arm64",
		why:   "the image is built for Linux on amd64 and arm64. Replicas on other nodes never start, and a rollout stops",
		fix: "set nodeSelector: {" + corev1.LabelOSStable + ": linux} in the Pod template, as kustomize/base does. For " +
			"other architectures, require node affinity with " + corev1.LabelArchStable + " In [amd64, arm64], or build " +
			"an image and accept the finding",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			running, _ := c.runsIn(s, corev1.LabelArchStable)
			built := append([]string{"", "amd64", "arm64"}, running...)
			windows, other := "", ""
			for _, n := range c.nodes {
				arch := n.Labels[corev1.LabelArchStable]
				switch {
				case !s.fits(n):
				case n.Labels[corev1.LabelOSStable] == string(corev1.Windows):
					windows = cmp.Or(windows, fmt.Sprintf("%s, which runs Windows", c.ref(n)))
				case !slices.Contains(built, arch):
					other = cmp.Or(other, fmt.Sprintf("%s, whose architecture is %s", c.ref(n), printable(arch)))
				}
			}
			for _, problem := range []string{windows, other} {
				if problem != "" {
					r.warning(s.ref, "its Pods may be scheduled to %s", problem)
				}
			}
		}),
	}
}
