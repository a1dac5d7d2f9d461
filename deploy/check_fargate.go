package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// fargate checks that the Pods do not serve on the port of the kubelet on AWS Fargate, because each Pod is a separate
// node there.
func fargate() check {
	const kubelet = 10250
	return check{
		id: "fargate", severity: Error,
		finds: "Pods that serve on port 10250 and may run on AWS Fargate",
		why: "on Fargate the kubelet shares the network of the Pod and uses port 10250. The process exits " +
			"(address already in use), or the API server reaches the kubelet instead of Evergate",
		fix: "set --listen, the containerPort https and the NetworkPolicy to another port, such as 8443",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				runs := slices.ContainsFunc(c.pods, func(p *corev1.Pod) bool {
					node := find(c.nodes, "", p.Spec.NodeName)
					return p.Namespace == s.Namespace && node != nil && isFargate(node) && containsAll(p.Labels, s.templateLabels())
				})
				all := len(c.nodes) > 0 && len(c.ordinaryNodes()) == 0
				if s.listens("listen") == kubelet && (runs || all) {
					r.error(s.process, "--listen is on port %d, and its Pods run on Fargate, where the kubelet uses it", kubelet)
				}
			}
		},
	}
}
