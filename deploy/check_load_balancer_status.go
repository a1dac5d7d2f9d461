package deploy

// loadBalancerStatus: the webhook that judges the addresses in the status of Services, /validate/services/status, fails
// open, and matches nothing else: the path answers for nothing else.
func loadBalancerStatus() check {
	const resource = "services/status"
	return check{
		id: "load-balancer-status", severity: Error,
		finds: "the webhook of addresses in the status of Services (" + pathValidateServiceStatus + ") that fails " +
			"closed, or matches anything else",
		why: "cloud controllers write these addresses: failing closed, dead replicas hold up every new load " +
			"balancer, among them the one that users, or API servers of other clusters, come in by",
		fix: "set failurePolicy: Ignore, also where other webhooks fail closed, and match UPDATE of " + resource +
			" only",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				if h.path() != pathValidateServiceStatus {
					continue
				}
				if h.closed() {
					r.error(h.ref, "its failurePolicy is Fail: with every replica dead, no load balancer is given an address")
				}
				for name := range h.resources {
					if name != resource {
						r.error(h.ref, "it matches %s: only %s is judged there", name, resource)
					}
				}
			}
		},
	}
}
