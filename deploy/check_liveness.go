package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// liveness: there is a liveness probe by HTTP for /livez on the port of --ops-listen, which fails when the process
// hangs and never for another reason. A startup probe, where there is one, asks a port, by a scheme and for a path that
// are served.
func liveness() check {
	return check{
		id: "liveness", severity: Error,
		finds: "a liveness probe that is missing, asks where nothing answers, or falls for more than a hang; a startup " +
			"probe that asks where nothing answers",
		why: "a replica that hangs is never restarted, and calls to it run into their timeout until a person " +
			"notices; a probe that nothing answers restarts every replica again and again; one that asks whether it is " +
			"ready, or the port that waits for a certificate, restarts all replicas at once when something they share is " +
			"broken",
		fix: "probe httpGet: {path: /livez} by HTTP on the port of --ops-listen",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				s.checkLiveness(r)
				s.checkStartup(r)
			}
		},
	}
}

func (s *server) checkLiveness(r *reporter) {
	probe := s.container.LivenessProbe
	switch {
	case probe == nil:
		r.error(s.process, "it has no livenessProbe")
		return
	case probe.HTTPGet == nil:
		r.error(s.process, "its livenessProbe does not ask by httpGet: an open port says nothing of a hang")
		return
	case probe.HTTPGet.Path != "/livez":
		r.error(s.process, "its livenessProbe asks %q, and /livez says whether it hangs", probe.HTTPGet.Path)
	}
	get := probe.HTTPGet
	problem := s.misdirected(get, "ops-listen")
	if l, ok := s.listener("listen"); ok && problem != "" && get.Host == "" && l.port == s.port(get.Port) &&
		scheme(get) == corev1.URISchemeHTTPS {
		r.warning(s.process, "its livenessProbe asks port %d, which is bound only when there is a certificate: ask that of "+
			"--ops-listen", l.port)
		return
	}
	if problem != "" {
		r.error(s.process, "its livenessProbe %s: every replica is restarted again and again", problem)
	}
}

func (s *server) checkStartup(r *reporter) {
	probe := s.container.StartupProbe
	if probe == nil || probe.HTTPGet == nil {
		return
	}
	if path := probe.HTTPGet.Path; !slices.Contains([]string{"/livez", "/readyz"}, path) {
		r.error(s.process, "its startupProbe asks %q, and neither port answers that with 200: ask /livez", path)
	}
	if problem := s.misdirected(probe.HTTPGet, "ops-listen", "listen"); problem != "" {
		r.error(s.process, "its startupProbe %s: every replica is restarted again and again", problem)
	}
}
