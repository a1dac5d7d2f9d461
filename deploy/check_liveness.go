package deploy

// liveness: there is a liveness probe by HTTP for /livez, which fails when the process hangs and never for another
// reason.
func liveness() check {
	return check{
		id: "liveness", severity: Error,
		finds: "a liveness probe that is missing, or falls for more than a hang",
		why: "a replica that hangs is never restarted, and calls to it run into their timeout until a person " +
			"notices; a probe that asks whether it is ready restarts all replicas at once when something they " +
			"share is broken, such as a certificate",
		fix: "probe httpGet: {path: /livez} on the port of --ops-listen",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				probe := s.container.LivenessProbe
				switch {
				case probe == nil:
					r.error(s.process, "it has no livenessProbe")
				case probe.HTTPGet == nil:
					r.error(s.process, "its livenessProbe does not ask by httpGet: an open port says nothing of a hang")
				case probe.HTTPGet.Path != "/livez":
					r.error(s.process, "its livenessProbe asks %q, and /livez says whether it hangs",
						probe.HTTPGet.Path)
				}
			}
		},
	}
}
