package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// fargate checks that the Pods do not serve on ports that a node uses on AWS Fargate, because each Pod is a separate
// node there.
func fargate() check {
	return check{
		id: "fargate", severity: Error,
		finds: "Pods that serve on a port of the kubelet or of kube-proxy, such as 10250, and may run on AWS Fargate",
		why: "on Fargate the kubelet shares the network of the Pod and uses port 10250. The process exits " +
			"(address already in use), or the API server reaches the kubelet instead of Evergate",
		fix: "set --listen, the containerPort https and the NetworkPolicy to another port, such as 8443, and --ops-listen " +
			"and the containerPort ops to 8080",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				runs := slices.ContainsFunc(c.pods, func(p *corev1.Pod) bool {
					node := find(c.nodes, "", p.Spec.NodeName)
					return p.Namespace == s.Namespace && node != nil && isFargate(node) && containsAll(p.Labels, s.templateLabels())
				})
				all := len(c.nodes) > 0 && len(c.ordinaryNodes()) == 0
				for _, flag := range []string{"listen", "ops-listen"} {
					port := s.listens(flag)
					if user := nodePorts()[port]; user != "" && (runs || all) {
						r.error(s.process, "--%s is on port %d, and its Pods run on Fargate, where %s uses it", flag, port, user)
					}
				}
			}
		},
	}
}
