package deploy

import admissionv1 "k8s.io/api/admissionregistration/v1"

// matchPolicy: matchPolicy is Equivalent, which is the API's default.
func matchPolicy() check {
	return check{
		id: "match-policy", severity: Warning,
		finds: "matchPolicy Exact",
		why:   "an object that is written through another version of its API than the rules name is not judged",
		fix:   "set matchPolicy: Equivalent",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				if h.MatchPolicy != nil && *h.MatchPolicy == admissionv1.Exact {
					r.warning(h.ref, "matchPolicy is Exact")
				}
			}
		},
	}
}
