package deploy

import admissionv1 "k8s.io/api/admissionregistration/v1"

// mutation checks that mutating webhooks fail open and are invoked again after other webhooks have changed the Pod.
// The validating webhook catches anything that they miss: it evaluates the final Pod and may fail closed.
func mutation() check {
	return check{
		id: "mutation", severity: Warning,
		finds: "a mutating Evergate webhook that fails closed or does not set reinvocationPolicy: IfNeeded",
		why: "if a mutating webhook that fails closed does not answer, Pods are rejected with a connection error, " +
			"although the validating webhook could explain the problem. A mutating webhook that is not invoked again " +
			"misses the sidecars that other webhooks add after it",
		fix: "set failurePolicy: Ignore and reinvocationPolicy: IfNeeded",
		run: eachHook(func(_ *cluster, h *hook, r *reporter) {
			if !h.mutating {
				return
			}
			if h.closed() {
				r.warning(h.ref, "its failurePolicy is Fail")
			}
			if h.ReinvocationPolicy == nil || *h.ReinvocationPolicy != admissionv1.IfNeededReinvocationPolicy {
				r.warning(h.ref, "its reinvocationPolicy is not IfNeeded")
			}
		}),
	}
}
