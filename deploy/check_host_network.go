package deploy

// hostNetwork: in the host's network, no port that is listened on is one of the node's own.
func hostNetwork() check {
	return check{
		id: "host-network", severity: Error,
		finds: "a replica in the host's network that listens on a port which the node itself uses",
		why: "the kubelet or kube-proxy has that port on every node: each replica ends at its start (bind: address " +
			"already in use)",
		fix: "set --listen, --ops-listen and the containerPorts to ports that are free on the nodes: " +
			"docs/runbooks/providers.md",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				for _, name := range []string{"listen", "ops-listen"} {
					port := s.listens(name)
					if user := nodePorts()[port]; s.pod.HostNetwork && user != "" {
						r.error(s.process, "hostNetwork is true, and --%s is port %d, which %s has on every node", name, port, user)
					}
				}
			}
		},
	}
}

// nodePorts holds the ports that a node itself uses, and what does:
// https://kubernetes.io/docs/reference/networking/ports-and-protocols/ and the defaults of kubelet and kube-proxy.
func nodePorts() map[int32]string {
	return map[int32]string{
		10248: "the kubelet", // healthz
		10249: "kube-proxy",  // metrics
		10250: "the kubelet", // its API
		10255: "the kubelet", // its read-only port, where that is switched on
		10256: "kube-proxy",  // healthz
	}
}
