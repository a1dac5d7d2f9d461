package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// policyGuard: the webhook that judges the policy's ConfigMap, and so has to look at Evergate's own namespace, has
// exactly this shape: creation, update and deletion of ConfigMaps, in that namespace alone by its name label,
// narrowed to the policy by an objectSelector or a matchCondition on the name, and failurePolicy Ignore.
func policyGuard() check {
	return check{
		id: "policy-guard", severity: Error,
		finds: "the webhook that guards the policy (" + pathValidatePolicy + ") in a shape that could lock " +
			"Evergate out",
		why: "it is the one webhook that matches Evergate's own namespace: anything wider than the policy's " +
			"ConfigMap, or failing closed, lets dead replicas prevent their own repair",
		fix: "match configmaps only, in the namespace of Evergate only (kubernetes.io/metadata.name In), the " +
			"policy only (objectSelector, or a matchCondition on the name), with failurePolicy Ignore",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				if h.guardsPolicy() {
					c.checkGuard(h, r)
				}
			}
		},
	}
}

func (c *cluster) checkGuard(h *hook, r *reporter) {
	if h.closed() {
		r.error(h.ref, "its failurePolicy is Fail: with every replica dead, the policy could not be fixed")
	}
	for resource, operations := range h.resources {
		if resource != "configmaps" {
			r.error(h.ref, "it matches %s: only configmaps hold a policy", resource)
		}
		if slices.Contains(operations, admissionv1.Connect) {
			r.error(h.ref, "it matches other operations than CREATE, UPDATE and DELETE")
		}
	}
	// A name that no namespace has been given yet stands for all the others.
	alone := !canSelect(h.NamespaceSelector, "any-other") && canSelect(h.NamespaceSelector, c.namespace)
	if known := c.namespace != ""; known && !alone { // otherwise: path
		r.error(h.ref, "its namespaceSelector does not select %s alone by kubernetes.io/metadata.name", c.namespace)
	}
	byName := slices.IndexFunc(h.MatchConditions, asksName)
	switch {
	case byName >= 0:
		c.checkGuardedName(h, h.MatchConditions[byName].Expression, r)
	case anything(h.ObjectSelector):
		r.error(h.ref,
			"it looks at every ConfigMap of the namespace: it has no objectSelector, and no matchCondition on the name")
	}
}

// checkGuardedName reports ConfigMaps of a policy that are not among the names in the expression, with kustomize's hash
// behind them or without.
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
				hash, ok := strings.CutPrefix(mounted, name)
				return ok && name != "" && (hash == "" || len(hash) == len("-9t8g2kf5bh") && hash[0] == '-')
			})
			if !guarded {
				r.warning(h.ref, "it looks at no ConfigMap called %s, which %s mounts as its policy", mounted, s.Name)
			}
		}
	}
}

func asksName(m admissionv1.MatchCondition) bool {
	return strings.Contains(m.Expression, "metadata.name") || strings.Contains(m.Expression, "request.name")
}
