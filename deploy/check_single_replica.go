package deploy

import "slices"

// singleReplica checks that there are at least two replicas, also after an autoscaler has removed as many as it may. A
// single replica is an error if a webhook fails closed and a warning otherwise.
func singleReplica() check {
	return check{
		id: "single-replica", severity: Error,
		finds: "a single replica. Preflight reports only a warning if every webhook fails open",
		why: "when the node fails, no replica answers until another replica has started, which takes a minute or more. If " +
			"webhooks fail closed, the API server rejects matching requests. If they fail open, Pods keep images from " +
			"outside the mirrors",
		fix: "set replicas: 3, one in each zone, and the same minimum in an autoscaler",
		run: func(c *cluster, r *reporter) {
			report := r.warning
			if slices.ContainsFunc(c.hooks, (*hook).closed) {
				report = r.error
			}
			for _, s := range c.servers {
				switch n := s.replicas(); {
				case n >= 2:
				case s.scaled():
					report(s.ref, "replicas is %d, which is the minimum of %s", n, c.ref(s.autoscaler))
				default:
					report(s.ref, "replicas is %d", n)
				}
			}
		},
	}
}
