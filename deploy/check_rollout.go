package deploy

// rollout: a replica is ready before another one goes. A single replica is exempt: single-replica
// reports it.
func rollout() check {
	return check{
		id: "rollout", severity: Error,
		finds: "a roll-out that takes replicas away before their successors are ready; a warning when some are " +
			"left",
		why: "each release, and each change of configuration, is an outage of the webhook, or leaves so few " +
			"replicas that the rest is overloaded",
		fix: "set strategy.rollingUpdate: {maxUnavailable: 0, maxSurge: 1}",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				unavailable, _ := s.rollout()
				switch n := s.replicas(); {
				case unavailable == 0 || n < 2:
				case unavailable >= n:
					r.error(s.ref, "its strategy may take all %d replicas away at once", n)
				default:
					r.warning(s.ref, "its strategy may take %d of %d replicas away before their successors are ready",
						unavailable, n)
				}
			}
		},
	}
}
