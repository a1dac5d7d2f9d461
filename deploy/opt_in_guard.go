package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// optInGuard: where webhooks select namespaces by the opt-in label, a ValidatingAdmissionPolicy guards it: it names the
// label, matches CREATE and UPDATE of namespaces and UPDATE of namespaces/status and namespaces/finalize, fails closed,
// and a binding denies.
func optInGuard() check {
	return check{
		id: "opt-in-guard", severity: Warning,
		finds: "an opt-in label that no ValidatingAdmissionPolicy guards, or guards with a gap",
		why: "whoever may write a namespace, also by its status or finalize subresource, can take it out of all " +
			"checks unseen",
		mend: "apply the kit's ValidatingAdmissionPolicy and its binding with validationActions: [Deny]",
		run: func(c *cluster, r *reporter) {
			i := slices.IndexFunc(c.hooks, selectsByLabel)
			if i < 0 {
				return
			}
			var guards []*admissionv1.ValidatingAdmissionPolicy
			for _, p := range c.AdmissionPolicies {
				if mentionsLabel(p) {
					guards = append(guards, p)
				}
			}
			if len(guards) == 0 {
				r.warning(c.hooks[i].ref,
					"it selects namespaces by the label %s, which no ValidatingAdmissionPolicy guards", optInLabel)
			}
			for _, p := range guards {
				c.checkOptInGuard(p, r)
			}
		},
	}
}

// selectsByLabel says whether a webhook depends on the label, be it for opting in or out.
func selectsByLabel(h *hook) bool {
	if h.NamespaceSelector == nil {
		return false
	}
	_, equals := h.NamespaceSelector.MatchLabels[optInLabel]
	for _, e := range h.NamespaceSelector.MatchExpressions {
		equals = equals || e.Key == optInLabel
	}
	return equals
}

// mentionsLabel says whether any expression of a policy is about the label.
func mentionsLabel(p *admissionv1.ValidatingAdmissionPolicy) bool {
	var expressions []string
	for _, v := range p.Spec.Validations {
		expressions = append(expressions, v.Expression)
	}
	for _, v := range p.Spec.Variables {
		expressions = append(expressions, v.Expression)
	}
	for _, m := range p.Spec.MatchConditions {
		expressions = append(expressions, m.Expression)
	}
	return slices.ContainsFunc(expressions, func(s string) bool { return strings.Contains(s, optInLabel) })
}

func (c *cluster) checkOptInGuard(p *admissionv1.ValidatingAdmissionPolicy, r *reporter) {
	if p.Spec.FailurePolicy != nil && *p.Spec.FailurePolicy == admissionv1.Ignore {
		r.warning(c.ref(p), "its failurePolicy is Ignore: what its expressions cannot evaluate passes")
	}
	for _, need := range []struct {
		resource  string
		operation admissionv1.OperationType
	}{
		{"namespaces", admissionv1.Create}, {"namespaces", admissionv1.Update},
		{"namespaces/status", admissionv1.Update}, {"namespaces/finalize", admissionv1.Update},
	} {
		if !policyCovers(p, need.resource, need.operation) {
			r.warning(c.ref(p), "it does not match %s of %s", need.operation, need.resource)
		}
	}
	if !slices.ContainsFunc(c.PolicyBindings, func(b *admissionv1.ValidatingAdmissionPolicyBinding) bool {
		return b.Spec.PolicyName == p.Name && slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
	}) {
		r.warning(c.ref(p), "no ValidatingAdmissionPolicyBinding of it denies")
	}
}

func policyCovers(p *admissionv1.ValidatingAdmissionPolicy, resource string, op admissionv1.OperationType) bool {
	if p.Spec.MatchConstraints == nil {
		return false
	}
	whole, _, sub := strings.Cut(resource, "/")
	rules := p.Spec.MatchConstraints.ResourceRules
	return slices.ContainsFunc(rules, func(rule admissionv1.NamedRuleWithOperations) bool {
		return hasOrAll(rule.APIGroups, "") && hasOperation(rule.Operations, op) &&
			(slices.Contains(rule.Resources, resource) || slices.Contains(rule.Resources, "*/*") ||
				slices.Contains(rule.Resources, whole+"/*") || !sub && slices.Contains(rule.Resources, "*"))
	})
}
