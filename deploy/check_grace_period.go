package deploy

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// gracePeriod checks that terminationGracePeriodSeconds is at least as long as a process may live after SIGTERM:
// --drain-timeout, --shutdown-timeout and 5 s to flush telemetry.
func gracePeriod() check {
	return check{
		id: "grace-period", severity: Error,
		finds: "a grace period that is shorter than the drain and the shutdown together",
		why: "the kubelet kills the process while it still answers calls. During each rollout, drain and scale-down, " +
			"some writes to the cluster fail",
		fix: "set terminationGracePeriodSeconds to at least --drain-timeout + --shutdown-timeout + 5 s",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			need, ok := s.lifetime()
			if grace := s.grace(); ok && grace < need {
				r.error(s.ref, "terminationGracePeriodSeconds is %d, and the process may live %v after SIGTERM: "+
					"--drain-timeout=%v, --shutdown-timeout=%v and %v to flush telemetry", int(grace.Seconds()), need,
					s.settings.DrainTimeout, s.settings.ShutdownTimeout, exitMargin)
			}
		}),
	}
}

// grace returns how long the kubelet waits after SIGTERM. It includes the time of a preStop hook.
func (s *server) grace() time.Duration {
	seconds := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if s.pod.TerminationGracePeriodSeconds != nil {
		seconds = *s.pod.TerminationGracePeriodSeconds
	}
	return time.Duration(seconds) * time.Second
}
