package deploy

// loadBalancerStatus checks that the webhook for the addresses in the status of Services, /validate/services/status,
// fails open and does not match anything else, because the path answers only for this status.
func loadBalancerStatus() check {
	const resource = "services/status"
	return check{
		id: "load-balancer-status", severity: Error,
		finds: "a webhook for addresses in the status of Services (" + pathValidateServiceStatus + ") that fails closed " +
			"or matches other resources",
		why: "cloud controllers write these addresses. If the webhook fails closed, replicas that do not answer hold " +
			"up every new load balancer, including load balancers that users or API servers of other clusters " +
			"connect to",
		fix: "set failurePolicy: Ignore, even if other webhooks fail closed, and match only UPDATE of " +
			resource,
		run: eachHook(func(_ *cluster, h *hook, r *reporter) {
			if h.path() != pathValidateServiceStatus {
				return
			}
			if h.closed() {
				r.error(h.ref, "its failurePolicy is Fail: while no replica answers, no load balancer gets an address")
			}
			for name := range h.resources {
				if name != resource {
					r.error(h.ref, "it matches %s, and its path evaluates only %s", name, resource)
				}
			}
		}),
	}
}
