package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// policyGuard checks the webhook that validates the ConfigMap of the policy and therefore matches Evergate's
// namespace. It has to match only the creation, update and deletion of ConfigMaps, and only in this namespace, by its
// name label. An objectSelector or a matchCondition on the name has to narrow it to the policy, and its failurePolicy
// has to be Ignore.
func policyGuard() check {
	return check{
		id: "policy-guard", severity: Error,
		finds: "a policy webhook (" + pathValidatePolicy + ") whose configuration could lock Evergate out",
		why: "the policy webhook is the only webhook that matches Evergate's namespace. If it matches more than the " +
			"ConfigMap of the policy, or fails closed, replicas that do not answer prevent their own repair",
		fix: "match only configmaps, only in Evergate's namespace (kubernetes.io/metadata.name In) and only the " +
			"policy (an objectSelector, or a matchCondition on the name), and set failurePolicy: Ignore",
		run: eachHook(func(c *cluster, h *hook, r *reporter) {
			if h.guardsPolicy() {
				c.checkGuard(h, r)
			}
		}),
	}
}

func (c *cluster) checkGuard(h *hook, r *reporter) {
	if h.closed() {
		r.error(h.ref, "its failurePolicy is Fail: while no replica answers, nobody can correct the policy")
	}
	for resource, operations := range h.resources {
		if resource != "configmaps" {
			r.error(h.ref, "it matches %s: only configmaps contain a policy", resource)
		}
		if slices.Contains(operations, admissionv1.Connect) {
			r.error(h.ref, "it matches operations other than CREATE, UPDATE and DELETE")
		}
	}
	// The name any-other represents all other namespaces.
	alone := !canSelect(h.NamespaceSelector, "any-other") && canSelect(h.NamespaceSelector, c.namespace)
	if known := c.namespace != ""; known && !alone { // see the check path
		r.error(h.ref, "its namespaceSelector does not select only %s by kubernetes.io/metadata.name", c.namespace)
	}
	byName := slices.IndexFunc(h.MatchConditions, asksName)
	switch {
	case byName >= 0:
		c.checkGuardedName(h, h.MatchConditions[byName].Expression, r)
	case anything(h.ObjectSelector):
		r.error(h.ref,
			"it matches every ConfigMap of the namespace: it has no objectSelector and no matchCondition on the name")
	}
}

// checkGuardedName reports mounted ConfigMaps of a policy whose names are not in the expression. A mounted name may
// end with a hash of kustomize.
func (c *cluster) checkGuardedName(h *hook, expression string, r *reporter) {
	var names []string
	for i, part := range slices.Collect(strings.SplitSeq(expression, `"`)) {
		if i%2 == 1 {
			names = append(names, part)
		}
	}
	for _, s := range c.servers {
		for _, mounted := range s.policyConfigMaps() {
			guarded := slices.ContainsFunc(names, func(name string) bool {
				hash, ok := strings.CutPrefix(mounted.Name, name)
				return ok && name != "" && (hash == "" || len(hash) == len("-9t8g2kf5bh") && hash[0] == '-')
			})
			if !guarded {
				r.warning(h.ref, "it does not match the ConfigMap %s, which %s mounts as its policy", mounted.Name, s.Name)
			}
		}
	}
}

func asksName(m admissionv1.MatchCondition) bool {
	return strings.Contains(m.Expression, "metadata.name") || strings.Contains(m.Expression, "request.name")
}
