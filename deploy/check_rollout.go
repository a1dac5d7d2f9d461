package deploy

// rollout checks that a new replica is ready before an old replica stops. It skips a single replica, which the check
// single-replica reports.
func rollout() check {
	return check{
		id: "rollout", severity: Error,
		finds: "a rollout that removes replicas before their replacements are ready, or that is paused. Preflight reports " +
			"only a warning if some replicas keep running",
		why: "each release and each change of the configuration interrupts the webhook, or leaves so few " +
			"replicas that they are overloaded",
		fix: "set strategy.rollingUpdate: {maxUnavailable: 0, maxSurge: 1}, and remove paused",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			if s.Spec.Paused {
				r.error(s.ref, "it is paused, so a new installation gets no replicas, and a change has no effect")
			}
			unavailable, _ := s.rollout()
			switch n := s.replicas(); {
			case unavailable == 0 || n < 2:
			case unavailable >= n:
				r.error(s.ref, "its strategy may remove all %d replicas at the same time", n)
			default:
				r.warning(s.ref, "its strategy may remove %d of %d replicas before their replacements are ready",
					unavailable, n)
			}
		}),
	}
}
