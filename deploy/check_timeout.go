package deploy

// maxTimeout is how long a webhook may hold a request up, in seconds. A Pod meets two mutating webhooks and one
// validating, and controllers' own deadlines are about 30 s.
const maxTimeout = 5

// timeout: timeoutSeconds is set, and at most 5.
func timeout() check {
	return check{
		id: "timeout", severity: Error,
		finds: "timeoutSeconds above 5, or not set, which means 10",
		why: "a dead replica, or a zone that was cut off, holds every matched write up for so long, once for each " +
			"webhook in the chain: controllers give up and retry, which makes it worse. Failing open does not " +
			"help, since the time is waited first",
		fix: "set timeoutSeconds: 3",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				switch {
				case h.TimeoutSeconds == nil:
					r.error(h.ref, "timeoutSeconds is not set, so that it is 10")
				case *h.TimeoutSeconds > maxTimeout:
					r.error(h.ref, "timeoutSeconds is %d: %d is the most", *h.TimeoutSeconds, maxTimeout)
				}
			}
		},
	}
}
