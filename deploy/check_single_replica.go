package deploy

import "slices"

// singleReplica: there are at least two replicas. With one an error where a webhook fails closed.
func singleReplica() check {
	return check{
		id: "single-replica", severity: Error,
		finds: "one replica; a warning when every webhook fails open",
		why: "when its node goes, no replica answers until another has started, a minute or more: failing closed, " +
			"what is matched is refused; failing open, Pods keep images from outside the mirrors",
		fix: "set replicas: 3, one a zone",
		run: func(c *cluster, r *reporter) {
			report := r.warning
			if slices.ContainsFunc(c.hooks, (*hook).closed) {
				report = r.error
			}
			for _, s := range c.servers {
				if n := s.replicas(); n < 2 {
					report(s.ref, "replicas is %d", n)
				}
			}
		},
	}
}
