package deploy

// hostNetwork checks that a process in the host network does not listen on a port that the node itself uses.
func hostNetwork() check {
	return check{
		id: "host-network", severity: Error,
		finds: "a replica that uses the host network and listens on a port that the node itself uses",
		why: "the kubelet or kube-proxy uses that port on every node. Each replica exits immediately after it starts " +
			"(bind: address already in use)",
		fix: "set --listen, --ops-listen and the containerPorts to ports that are free on the nodes: see " +
			"docs/runbooks/providers.md",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			for _, name := range []string{"listen", "ops-listen"} {
				port := s.listens(name)
				if user := nodePorts()[port]; s.pod.HostNetwork && user != "" {
					r.error(s.process, "hostNetwork is true, and --%s is port %d, which %s uses on every node", name, port, user)
				}
			}
		}),
	}
}

// nodePorts returns the ports that a node itself uses, and the process that uses each:
// https://kubernetes.io/docs/reference/networking/ports-and-protocols/ and the defaults of kubelet and kube-proxy.
func nodePorts() map[int32]string {
	return map[int32]string{
		10248: "the kubelet", // healthz
		10249: "kube-proxy",  // metrics
		10250: "the kubelet", // its API
		10255: "the kubelet", // its read-only port, if it is enabled
		10256: "kube-proxy",  // healthz
	}
}
