package deploy

import "time"

// preStop checks that a preStop hook does not use the part of the grace period that the drain and the shutdown need.
// A sleep is counted. The duration of a command or a request is not known, and the image does not have a shell.
func preStop() check {
	return check{
		id: "pre-stop", severity: Error,
		finds: "a preStop hook that uses up the grace period, or whose duration is not known",
		why: "the kubelet sends SIGTERM only after the hook, but still kills the process at the end of the grace " +
			"period, so the drain is cut short. A sleep before SIGTERM does not help, because the API server keeps " +
			"calling over its open connections",
		fix: "remove the preStop hook, because the process drains by itself, or add its duration to " +
			"terminationGracePeriodSeconds",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			lc := s.container.Lifecycle
			if lc == nil || lc.PreStop == nil {
				return
			}
			if lc.PreStop.Sleep == nil {
				r.error(s.process, "it has a preStop hook of unknown duration")
				return
			}
			sleep := time.Duration(lc.PreStop.Sleep.Seconds) * time.Second
			need, ok := s.lifetime()
			if grace := s.grace(); ok && grace >= need && grace < sleep+need { // for less, see the check grace-period
				r.error(s.process,
					"after its preStop sleep of %v, %v are left of terminationGracePeriodSeconds, and the process "+
						"may live %v after SIGTERM", sleep, grace-sleep, need)
			}
		}),
	}
}
