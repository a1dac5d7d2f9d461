package deploy

import (
	"slices"
	"strings"
)

// scope: webhooks of Evergate match nothing but the creation and update of what Evergate judges. It is an error where
// the webhook fails closed, since nodes and the control plane need the rest, and a warning where it only costs time.
// The check wildcard-rule reports wildcards.
func scope() check {
	return check{
		id: "scope", severity: Error,
		finds: "a webhook of Evergate that matches what Evergate does not judge; a warning where it fails open",
		why: "each such write waits for an answer that says nothing; failing closed, what nodes and the control " +
			"plane need (leases, nodes, endpoints, secrets, bindings, deletions) stops while no replica answers",
		fix: "match only CREATE and UPDATE of " + strings.Join(judged(), ", "),
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				if h.guardsPolicy() {
					continue
				}
				for resource, operations := range h.resources {
					switch {
					case strings.Contains(resource, "*"):
					case judgesWorkloads(h.path()) && isCustom(resource): // see templatesWebhook
					case !slices.Contains(judged(), resource):
						r.call(h, "it matches %s, which Evergate does not judge", resource)
					case matchesMore(operations):
						r.call(h, "it matches other operations on %s than CREATE and UPDATE", resource)
					}
				}
			}
		},
	}
}
