package deploy

import corev1 "k8s.io/api/core/v1"

// readiness: there is a readiness probe, by HTTPS on the port that calls arrive on, for /readyz.
func readiness() check {
	return check{
		id: "readiness", severity: Error,
		finds: "a readiness probe that is missing, or asks another port than is served",
		why: "a replica is called before it can answer, or after: with a probe elsewhere it counts as ready " +
			"though its TLS listener is not up. One such race left 2 % of Pods unchanged at each roll of a node " +
			"pool",
		fix: "probe httpGet: {path: /readyz, scheme: HTTPS} on the port of --listen",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				probe := s.container.ReadinessProbe
				if probe == nil || probe.HTTPGet == nil {
					r.error(s.process, "it has no readinessProbe by httpGet")
					continue
				}
				get, listen := probe.HTTPGet, s.flags.port("listen")
				switch port := s.port(get.Port); {
				case port != listen:
					r.error(s.process, "its readinessProbe asks port %d, and calls arrive on %d", port, listen)
				case get.Scheme != corev1.URISchemeHTTPS:
					r.error(s.process, "its readinessProbe does not speak HTTPS, as the port that is served does")
				case get.Path != "/readyz":
					r.error(s.process, "its readinessProbe asks %q, and /readyz says whether it is ready", get.Path)
				}
			}
		},
	}
}
