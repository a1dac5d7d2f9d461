package deploy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// objectSelector: no webhook of Evergate but the guard of the policy has an objectSelector.
func objectSelector() check {
	return check{
		id: "object-selector", severity: Error,
		finds: "a webhook of Evergate with an objectSelector; a warning for the second chance of rewriting",
		why: "labels of an object are its author's: a tenant adds one, or leaves it out, and the object is neither " +
			"rewritten nor judged",
		fix: "remove the objectSelector, and exempt by the policy or by namespace: the opt-in guard decides who may " +
			"label a namespace",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				if !h.guardsPolicy() && !anything(h.ObjectSelector) {
					r.gap(h, "it has an objectSelector, %s: who writes an object decides by its labels whether it is looked at",
						printable(metav1.FormatLabelSelector(h.ObjectSelector)))
				}
			}
		},
	}
}
