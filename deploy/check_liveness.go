package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// liveness checks that there is a liveness probe with HTTP for /livez on the port of --ops-listen, which fails only
// when the process hangs. A startup probe, if there is one, has to use a port, a scheme and a path that Evergate
// serves. A postStart hook must not run a command that the image does not contain.
func liveness() check {
	return check{
		id: "liveness", severity: Error,
		finds: "a liveness probe that is missing, uses an address that nothing serves, or fails for reasons other than a " +
			"hang. Preflight also reports a startup probe that uses an address that nothing serves, and a startup probe or " +
			"postStart hook that runs a command that the image does not contain",
		why: "the kubelet does not restart a replica that hangs, and calls to it time out until a person notices. If " +
			"nothing answers the probe, every replica restarts again and again. A liveness probe that checks " +
			"readiness, or that uses the port that waits for a certificate, restarts all replicas together when a " +
			"shared dependency fails",
		fix: "probe httpGet: {path: /livez} with HTTP on the port of --ops-listen",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			s.checkLiveness(r)
			s.checkStartup(r)
			s.checkPostStart(r)
		}),
	}
}

func (s *server) checkLiveness(r *reporter) {
	probe := s.container.LivenessProbe
	switch {
	case probe == nil:
		r.error(s.process, "it has no livenessProbe")
		return
	case probe.HTTPGet == nil && s.unanswered(probe) != "":
		r.error(s.process, "its livenessProbe %s: every replica is restarted again and again", s.unanswered(probe))
		return
	case probe.HTTPGet == nil:
		r.error(s.process, "its livenessProbe does not use httpGet: an open port does not show a hang")
		return
	case probe.HTTPGet.Path != "/livez":
		r.error(s.process, "its livenessProbe uses the path %q, and /livez reports whether it hangs", probe.HTTPGet.Path)
	}
	get := probe.HTTPGet
	problem := s.misdirected(get, "ops-listen")
	if l, ok := s.listener("listen"); ok && problem != "" && get.Host == "" && l.port == s.port(get.Port) &&
		scheme(get) == corev1.URISchemeHTTPS {
		r.warning(s.process, "its livenessProbe uses port %d, which is bound only when there is a certificate: use the "+
			"port of --ops-listen", l.port)
		return
	}
	if problem != "" {
		r.error(s.process, "its livenessProbe %s: every replica is restarted again and again", problem)
	}
}

func (s *server) checkStartup(r *reporter) {
	probe := s.container.StartupProbe
	if probe == nil {
		return
	}
	problem := s.unanswered(probe)
	if probe.HTTPGet != nil {
		problem = s.misdirected(probe.HTTPGet, "ops-listen", "listen")
	}
	if problem != "" {
		r.error(s.process, "its startupProbe %s: every replica is restarted again and again", problem)
	}
	if probe.HTTPGet == nil {
		return
	}
	if path := probe.HTTPGet.Path; !slices.Contains([]string{"/livez", "/readyz"}, path) {
		r.error(s.process, "its startupProbe uses the path %q, and neither port answers it with 200: use /livez", path)
	}
}

// checkPostStart reports a hook that fails. The kubelet then kills the container.
func (s *server) checkPostStart(r *reporter) {
	lc := s.container.Lifecycle
	if lc == nil || lc.PostStart == nil || lc.PostStart.Exec == nil {
		return
	}
	if problem := missingCommand(lc.PostStart.Exec); problem != "" {
		r.error(s.process, "its postStart hook %s: every replica is restarted again and again", problem)
	}
}
