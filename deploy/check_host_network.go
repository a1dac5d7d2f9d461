package deploy

import (
	"cmp"
	"slices"
)

// hostNetwork checks that a process in the host network does not listen on a port that the node itself uses or that
// only root may open, and that no hostPort is a port of the node. Container runtimes let every user open all ports
// in the network of a Pod, but not in the host network.
func hostNetwork() check {
	const firstUnprivileged = 1024 // the kernel's default of net.ipv4.ip_unprivileged_port_start
	return check{
		id: "host-network", severity: Error,
		finds: "a replica that uses the host network and listens on a port that the node itself uses or that only root may " +
			"open, or a hostPort that the node itself uses",
		why: "the kubelet or kube-proxy uses that port on every node. Each replica exits immediately after it starts " +
			"(bind: address already in use, or permission denied). A hostPort takes the calls of the kubelet's clients, " +
			"such as kubectl logs, on each node with a replica",
		fix: "set --listen, --ops-listen and the containerPorts to ports that are free on the nodes: see " +
			"docs/runbooks/providers.md. Remove hostPort, because the API server calls the Service",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			for _, p := range s.container.Ports {
				if user := nodePorts()[p.HostPort]; !s.pod.HostNetwork && user != "" {
					r.error(s.process, "its hostPort is %d, which %s uses on every node", p.HostPort, user)
				}
			}
			for _, name := range []string{"listen", "ops-listen"} {
				port := s.listens(name)
				switch user := nodePorts()[port]; {
				case !s.pod.HostNetwork || port == 0:
				case user != "":
					r.error(s.process, "hostNetwork is true, and --%s is port %d, which %s uses on every node", name, port, user)
				case port < firstUnprivileged && s.unprivileged():
					r.error(s.process, "hostNetwork is true, and --%s is port %d, which only root may open: use a port from %d",
						name, port, firstUnprivileged)
				}
			}
		}),
	}
}

// unprivileged reports whether the process runs as another user than root and without the capability to open all ports.
func (s *server) unprivileged() bool {
	pod, own := s.security()
	user, nonRoot := cmp.Or(own.RunAsUser, pod.RunAsUser), cmp.Or(own.RunAsNonRoot, pod.RunAsNonRoot)
	return (user != nil && *user != 0 || user == nil && isTrue(nonRoot)) &&
		(own.Capabilities == nil || !slices.Contains(own.Capabilities.Add, "NET_BIND_SERVICE"))
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
