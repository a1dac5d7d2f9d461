package deploy

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// preStop checks that a preStop hook does not use the part of the grace period that the drain and the shutdown need.
// A sleep is counted. The duration of a command or a request is not known, and the image does not have a shell. It also
// checks that the kubelet stops the process with a signal after which the process drains.
func preStop() check {
	return check{
		id: "pre-stop", severity: Error,
		finds: "a preStop hook that uses up the grace period, or whose duration is not known, and a stopSignal that ends " +
			"the process without a drain",
		why: "the kubelet sends SIGTERM only after the hook, but still kills the process at the end of the grace " +
			"period, so the drain is cut short. A sleep before SIGTERM does not help, because the API server keeps " +
			"calling over its open connections",
		fix: "remove the preStop hook, because the process drains by itself, or add its duration to " +
			"terminationGracePeriodSeconds. Remove the stopSignal",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			lc := s.container.Lifecycle
			if lc != nil && lc.StopSignal != nil && *lc.StopSignal != corev1.SIGTERM && *lc.StopSignal != corev1.SIGINT {
				r.error(s.process, "its stopSignal is %s, and the process drains only after SIGTERM", *lc.StopSignal)
			}
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
