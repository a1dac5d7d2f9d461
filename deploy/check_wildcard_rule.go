package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// wildcardRule checks that the rules of Evergate webhooks do not have a * as API group, version, resource or
// operation. A * also covers resources that nobody thought of: leases, tokens, the API server's ConfigMaps.
func wildcardRule() check {
	return check{
		id: "wildcard-rule", severity: Error,
		finds: "a `*` in the rules of an Evergate webhook",
		why: "a `*` covers the objects that nodes and the control plane write to stay alive. A webhook with such a " +
			"rule once took down a managed control plane because it did not answer",
		fix: "list each API group, version, resource and operation. The finding scope lists the resources that " +
			"Evergate evaluates",
		run: eachHook(func(_ *cluster, h *hook, r *reporter) {
			for i, rule := range h.Rules {
				if where := wildcardOf(&rule); coversEverything(rule) {
					r.error(h.ref, "with failurePolicy %s rule %d matches every resource of every API group",
						h.failurePolicy(), i+1)
				} else if where != "" {
					r.error(h.ref, "rule %d has a * in %s", i+1, where)
				}
			}
		}),
	}
}

// wildcardOf returns the first field of a rule that has a *, or "" if the rule does not have any.
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
