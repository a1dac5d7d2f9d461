package deploy

import admissionv1 "k8s.io/api/admissionregistration/v1"

// mutation: mutating webhooks fail open, and are called again after others have changed the Pod. The validating
// webhook sees what they miss: it judges the final Pod, and may fail closed.
func mutation() check {
	return check{
		id: "mutation", severity: Warning,
		finds: "a mutating webhook of Evergate that fails closed, or is not invoked again",
		why: "failing closed, it refuses Pods with the words of a broken connection, where the validating webhook " +
			"would say what is wrong; not invoked again, it misses the sidecars that other webhooks add after it",
		fix: "set failurePolicy: Ignore and reinvocationPolicy: IfNeeded",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				if !h.mutating {
					continue
				}
				if h.closed() {
					r.warning(h.ref, "its failurePolicy is Fail")
				}
				if h.ReinvocationPolicy == nil || *h.ReinvocationPolicy != admissionv1.IfNeededReinvocationPolicy {
					r.warning(h.ref, "its reinvocationPolicy is not IfNeeded")
				}
			}
		},
	}
}
