package deploy

// readiness checks that there is a readiness probe with HTTPS for /readyz on the port of --listen.
func readiness() check {
	return check{
		id: "readiness", severity: Error, needs: []premise{agreed()},
		finds: "a readiness probe that is missing, or uses a port, a scheme or a path that Evergate does not serve",
		why: "the API server calls a replica before it can answer, or after it has stopped. If the probe uses another " +
			"port, the replica becomes ready before its TLS listener works. Such a race left 2% of Pods unchanged whenever " +
			"a node pool was replaced",
		fix: "probe httpGet: {path: /readyz, scheme: HTTPS} on the port of --listen",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			probe := s.container.ReadinessProbe
			if probe == nil || probe.HTTPGet == nil {
				r.error(s.process, "it has no readinessProbe by httpGet")
				return
			}
			get := probe.HTTPGet
			if problem := s.misdirected(get, "listen"); problem != "" {
				r.error(s.process, "its readinessProbe %s", problem)
			}
			if get.Path != "/readyz" {
				r.error(s.process, "its readinessProbe uses the path %q, and /readyz reports whether it is ready", get.Path)
			}
		}),
	}
}
