package deploy

import admissionv1 "k8s.io/api/admissionregistration/v1"

// matchPolicy checks that matchPolicy is Equivalent, the default of the API.
func matchPolicy() check {
	return check{
		id: "match-policy", severity: Warning,
		finds: "an Evergate webhook with matchPolicy: Exact",
		why:   "Evergate does not receive an object that is written through an API version that the rules do not list",
		fix:   "set matchPolicy: Equivalent",
		run: eachHook(func(_ *cluster, h *hook, r *reporter) {
			if h.MatchPolicy != nil && *h.MatchPolicy == admissionv1.Exact {
				r.warning(h.ref, "matchPolicy is Exact")
			}
		}),
	}
}
