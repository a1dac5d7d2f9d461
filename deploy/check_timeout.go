package deploy

// maxTimeout is how long a webhook may hold up a request, in seconds. A Pod passes two mutating webhooks and one
// validating webhook, and the deadlines of controllers are about 30 s.
const maxTimeout = 5

// timeout checks that timeoutSeconds is set and at most 5.
func timeout() check {
	return check{
		id: "timeout", severity: Error,
		finds: "an Evergate webhook whose timeoutSeconds is above 5 or not set (the default is 10)",
		why: "a replica that does not answer, or a zone that is cut off, holds up every matched write for this time, " +
			"once for each webhook that matches it. Controllers give up and retry, which increases the load. Failing " +
			"open does not help, because the API server waits for the timeout first",
		fix: "set timeoutSeconds: 3",
		run: eachHook(func(_ *cluster, h *hook, r *reporter) {
			switch {
			case h.TimeoutSeconds == nil:
				r.error(h.ref, "timeoutSeconds is not set, so it is 10")
			case *h.TimeoutSeconds > maxTimeout:
				r.error(h.ref, "timeoutSeconds is %d, and the maximum is %d", *h.TimeoutSeconds, maxTimeout)
			}
		}),
	}
}
