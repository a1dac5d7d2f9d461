package deploy

// readiness: there is a readiness probe, by HTTPS on the port that calls arrive on, for /readyz.
func readiness() check {
	return check{
		id: "readiness", severity: Error, needs: []premise{agreed()},
		finds: "a readiness probe that is missing, or asks another port, by another scheme or for another path than is " +
			"served",
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
				get := probe.HTTPGet
				if problem := s.misdirected(get, "listen"); problem != "" {
					r.error(s.process, "its readinessProbe %s", problem)
				}
				if get.Path != "/readyz" {
					r.error(s.process, "its readinessProbe asks %q, and /readyz says whether it is ready", get.Path)
				}
			}
		},
	}
}
