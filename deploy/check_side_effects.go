package deploy

import (
	"cmp"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// sideEffects checks that sideEffects is None, which is true of every endpoint of Evergate.
func sideEffects() check {
	return check{
		id: "side-effects", severity: Error,
		finds: "an Evergate webhook whose sideEffects is not None",
		why: "the API server rejects dry runs (kubectl diff, server-side --dry-run) of every request that such a " +
			"webhook matches",
		fix: "set sideEffects: None",
		run: func(c *cluster, r *reporter) {
			unset := admissionv1.SideEffectClass("not set")
			for _, h := range c.hooks {
				if class := *cmp.Or(h.SideEffects, &unset); class != admissionv1.SideEffectClassNone {
					r.error(h.ref, "sideEffects is %s, and Evergate does not have any", class)
				}
			}
		},
	}
}
