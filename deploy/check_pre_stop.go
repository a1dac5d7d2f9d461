package deploy

import "time"

// preStop: no preStop hook takes from the grace period what the drain and the shutdown need. A sleep is counted; how
// long a command or a request takes is not known, and the image has no shell.
func preStop() check {
	return check{
		id: "pre-stop", severity: Error,
		finds: "a preStop hook that eats the grace period, or of unknown length",
		why: "SIGTERM comes after the hook, and the kill at the end of the grace period all the same: the drain " +
			"is cut short. A sleep before SIGTERM gains nothing: the API server keeps calling over connections " +
			"that it holds",
		fix: "remove the preStop hook: the process drains by itself; or add its length to " +
			"terminationGracePeriodSeconds",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				lc := s.container.Lifecycle
				if lc == nil || lc.PreStop == nil {
					continue
				}
				if lc.PreStop.Sleep == nil {
					r.error(s.process, "it has a preStop hook of unknown duration")
					continue
				}
				sleep := time.Duration(lc.PreStop.Sleep.Seconds) * time.Second
				need, ok := s.lifetime()
				if grace := s.grace(); ok && grace >= need && grace < sleep+need { // less: grace-period
					r.error(s.process,
						"after its preStop sleep of %v, %v are left of terminationGracePeriodSeconds, and the process "+
							"may live %v after SIGTERM", sleep, grace-sleep, need)
				}
			}
		},
	}
}
