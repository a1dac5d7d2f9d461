package deploy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// objectSelector checks that no Evergate webhook except the policy guard has an objectSelector.
func objectSelector() check {
	return check{
		id: "object-selector", severity: Error,
		finds: "an Evergate webhook with an objectSelector. Preflight reports only a warning for the retry webhook",
		why: "the author of an object sets its labels. If a tenant adds or omits a label, Evergate neither rewrites nor " +
			"checks the object",
		fix: "remove the objectSelector, and exempt objects in the policy or by namespace. The admission policy for the " +
			"opt-in label restricts who may label a namespace",
		run: eachHook(func(_ *cluster, h *hook, r *reporter) {
			if !h.guardsPolicy() && !anything(h.ObjectSelector) {
				r.gap(h, "it has an objectSelector, %s: the author of an object decides by its labels whether Evergate checks it",
					printable(metav1.FormatLabelSelector(h.ObjectSelector)))
			}
		}),
	}
}
