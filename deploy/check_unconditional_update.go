package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// unconditionalUpdate: a webhook that matches UPDATE has a matchCondition that compares with oldObject, so that only
// updates which change what is judged are sent. The expression itself is not evaluated. Ephemeral containers need
// none: their only update is a new image.
func unconditionalUpdate() check {
	return check{
		id: "unconditional-update", severity: Error,
		finds: "UPDATE matched without a matchCondition on oldObject; a warning where the webhook fails open",
		why: "most updates are not people's: controllers write finalizers, labels and owner references all day. " +
			"While no replica answers they are refused, or wait, and garbage collection and roll-outs of the " +
			"whole namespace stand still",
		fix: "add a matchCondition that is true for other operations than UPDATE, and else only if what is " +
			"judged differs between object and oldObject",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				if h.guardsPolicy() || !h.matchesPlainUpdate() || slices.ContainsFunc(h.MatchConditions, comparesOld) {
					continue
				}
				r.call(h, "it matches every UPDATE: no matchCondition looks at oldObject")
			}
		},
	}
}

func (h *hook) matchesPlainUpdate() bool {
	for resource, operations := range h.resources {
		if hasOperation(operations, admissionv1.Update) && resource != "pods/ephemeralcontainers" {
			return true
		}
	}
	return false
}

func comparesOld(m admissionv1.MatchCondition) bool {
	return strings.Contains(m.Expression, "oldObject")
}
