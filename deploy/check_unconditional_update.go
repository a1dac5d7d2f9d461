package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// unconditionalUpdate checks that a webhook that matches UPDATE has a matchCondition that compares with oldObject, so
// the API server sends only updates that change an evaluated field. The expression is not evaluated. Ephemeral
// containers do not need a condition, because their only update is a new image.
func unconditionalUpdate() check {
	return check{
		id: "unconditional-update", severity: Error,
		finds: "a webhook that matches UPDATE without a matchCondition on oldObject. Preflight reports only a warning if " +
			"the webhook fails open",
		why: "most updates do not come from people. Controllers write finalizers, labels and owner references " +
			"all day. While no replica answers, the API server rejects or delays these updates, and garbage " +
			"collection and rollouts stop in the whole namespace",
		fix: "add a matchCondition that is true for operations other than UPDATE and, for UPDATE, only if an " +
			"evaluated field differs between object and oldObject",
		run: eachHook(func(_ *cluster, h *hook, r *reporter) {
			if h.guardsPolicy() || !h.matchesPlainUpdate() || slices.ContainsFunc(h.MatchConditions, comparesOld) {
				return
			}
			r.call(h, "it matches every UPDATE: no matchCondition compares with oldObject")
		}),
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
