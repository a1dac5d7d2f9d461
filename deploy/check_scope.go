package deploy

import (
	"slices"
	"strings"
)

// scope checks that Evergate webhooks match only the creation and update of resources that Evergate evaluates. Any
// other match is an error if the webhook fails closed, because nodes and the control plane need these writes. It is a
// warning if the webhook fails open and only costs time. The check wildcard-rule reports wildcards.
func scope() check {
	return check{
		id: "scope", severity: Error,
		finds: "an Evergate webhook that matches resources or operations that Evergate does not evaluate. Preflight " +
			"reports only a warning if the webhook fails open",
		why: "each of these writes waits for an answer that never changes anything. If the webhook fails closed, " +
			"nodes and the control plane cannot write leases, nodes, endpoints, secrets and bindings, and " +
			"cannot delete objects, while no replica answers",
		fix: "match only CREATE and UPDATE of " + strings.Join(evaluated(), ", "),
		run: eachHook(func(_ *cluster, h *hook, r *reporter) {
			if h.guardsPolicy() {
				return
			}
			for resource, operations := range h.resources {
				switch {
				case strings.Contains(resource, "*"):
				case isWorkloads(h.path()) && isCustom(resource): // see templatesWebhook
				case !slices.Contains(evaluated(), resource):
					r.call(h, "it matches %s, which Evergate does not evaluate", resource)
				case matchesMore(operations):
					r.call(h, "it matches operations other than CREATE and UPDATE on %s", resource)
				}
			}
		}),
	}
}
