package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// wildcardRule: no rule of Evergate has a * as API group, version, resource or operation. A * also covers resources
// that were never thought of: leases, tokens, the API server's own ConfigMaps.
func wildcardRule() check {
	return check{
		id: "wildcard-rule", severity: Error,
		finds: "a `*` in the rules of a webhook of Evergate",
		why: "a `*` covers what nodes and the control plane write to stay alive; such a webhook that did not " +
			"answer has taken a managed control plane down",
		fix: "name each API group, version, resource and operation; Evergate judges pods, ingresses and services",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				for i, rule := range h.Rules {
					if where := wildcardOf(&rule); coversEverything(rule) {
						r.error(h.ref, "with failurePolicy %s rule %d matches every resource of every API group",
							h.failurePolicy(), i+1)
					} else if where != "" {
						r.error(h.ref, "rule %d has a * in %s", i+1, where)
					}
				}
			}
		},
	}
}

// wildcardOf returns the first field of a rule that has a *; empty when none has.
func wildcardOf(r *admissionv1.RuleWithOperations) string {
	for _, field := range []struct {
		name   string
		values []string
	}{{"apiGroups", r.APIGroups}, {"apiVersions", r.APIVersions}} {
		if slices.Contains(field.values, "*") {
			return field.name
		}
	}
	switch {
	case slices.ContainsFunc(r.Resources, func(resource string) bool { return strings.Contains(resource, "*") }):
		return "resources"
	case slices.Contains(r.Operations, admissionv1.OperationAll):
		return "operations"
	}
	return ""
}
