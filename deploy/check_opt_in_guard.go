package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// optInGuard checks that a ValidatingAdmissionPolicy guards the opt-in label if webhooks select namespaces by it. The
// guard has to contain the label, match CREATE and UPDATE of namespaces and UPDATE of namespaces/status and
// namespaces/finalize, and fail closed, and a binding has to deny. If webhooks exclude namespaces by name, the guard
// has to list these names too, or another such policy has to select the CREATE of these namespaces and require the
// verb opt-in.
func optInGuard() check {
	return check{
		id: "opt-in-guard", severity: Warning,
		finds: "an opt-in label that no ValidatingAdmissionPolicy protects completely, or excluded namespaces whose " +
			"creation no ValidatingAdmissionPolicy restricts",
		why: "a user who may write a namespace, including through its status or finalize subresource, can opt it out " +
			"of all checks, and nobody notices. A user who may create namespaces can use an excluded name, and is " +
			"then exempt in this namespace",
		fix: "apply the ValidatingAdmissionPolicies in kustomize/base, and their bindings with validationActions: " +
			"[Deny]. Exclude names in the list of exempt namespaces (base/exempt-namespaces.yaml), which " +
			"kustomize/wiring copies to the webhooks and the guard",
		run: func(c *cluster, r *reporter) {
			scopes := c.scopes()
			i, exempt := slices.IndexFunc(scopes, selectsByLabel), slices.DeleteFunc(c.exemptNames(), c.guardsCreation)
			guards := c.optInGuards()
			switch {
			case len(guards) > 0:
			case i >= 0:
				r.warning(scopes[i].ref,
					"it selects namespaces by the label %s, which no ValidatingAdmissionPolicy guards", optInLabel)
			case len(exempt) > 0:
				r.warning(c.anchor(),
					"it excludes namespaces by name, whose creation no ValidatingAdmissionPolicy guards: %s", some(exempt))
			}
			for _, p := range guards {
				c.checkOptInGuard(p, r)
				if names := slices.DeleteFunc(slices.Clone(exempt), listedBy(p)); len(names) > 0 {
					r.warning(c.ref(p), "webhooks exclude namespaces whose creation it does not guard: %s", some(names))
				}
			}
		},
	}
}

// exemptNames lists the namespaces that a webhook excludes by name or, without webhooks, a binding of a native policy.
func (c *cluster) exemptNames() []string {
	var names []string
	for _, s := range c.scopes() {
		for _, name := range s.excludedNames() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// guardsCreation reports whether a policy guards the creation of a namespace with this name. The policy has to fail
// closed, have a binding that denies, select the name, and require the verb opt-in.
func (c *cluster) guardsCreation(name string) bool {
	return slices.ContainsFunc(c.admissionPolicies, func(p *admissionv1.ValidatingAdmissionPolicy) bool {
		return selectsName(p, name) && policyCovers(p, "namespaces", admissionv1.Create) && !failsOpen(p) && c.denies(p) &&
			slices.ContainsFunc(expressions(p), func(s string) bool { return strings.Contains(s, optInVerb) })
	})
}

// optInVerb is the part of an expression that checks the permission to exempt a namespace.
const optInVerb = `check("opt-in")`

// selectsName reports whether a policy selects namespaces only by name, and selects this name.
func selectsName(p *admissionv1.ValidatingAdmissionPolicy, name string) bool {
	m := p.Spec.MatchConstraints
	if m == nil || m.NamespaceSelector == nil || len(m.NamespaceSelector.MatchLabels) > 0 ||
		len(m.NamespaceSelector.MatchExpressions) != 1 {
		return false
	}
	e := m.NamespaceSelector.MatchExpressions[0]
	return e.Key == corev1.LabelMetadataName && e.Operator == metav1.LabelSelectorOpIn && slices.Contains(e.Values, name)
}

// listedBy returns a function that reports whether an expression of a policy contains a name as a string.
func listedBy(p *admissionv1.ValidatingAdmissionPolicy) func(name string) bool {
	listed := map[string]bool{}
	for _, expression := range expressions(p) {
		for _, s := range celString.FindAllStringSubmatch(expression, -1) {
			listed[s[1]+s[2]] = true
		}
	}
	return func(name string) bool { return listed[name] }
}

// selectsByLabel reports whether a selector depends on the label, to opt in or to opt out.
func selectsByLabel(s namespaceScope) bool {
	if s.selector == nil {
		return false
	}
	_, equals := s.selector.MatchLabels[optInLabel]
	for _, e := range s.selector.MatchExpressions {
		equals = equals || e.Key == optInLabel
	}
	return equals
}

// mentionsLabel reports whether any expression of a policy contains the label.
func mentionsLabel(p *admissionv1.ValidatingAdmissionPolicy) bool {
	return slices.ContainsFunc(expressions(p), func(s string) bool { return strings.Contains(s, optInLabel) })
}

// expressions returns all expressions of a policy except the expressions of its messages.
func expressions(p *admissionv1.ValidatingAdmissionPolicy) []string {
	var all []string
	for _, v := range p.Spec.Validations {
		all = append(all, v.Expression)
	}
	for _, v := range p.Spec.Variables {
		all = append(all, v.Expression)
	}
	for _, m := range p.Spec.MatchConditions {
		all = append(all, m.Expression)
	}
	return all
}

func (c *cluster) checkOptInGuard(p *admissionv1.ValidatingAdmissionPolicy, r *reporter) {
	if failsOpen(p) {
		r.warning(c.ref(p), "its failurePolicy is Ignore: requests that its expressions cannot evaluate are allowed")
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
	if !c.denies(p) {
		r.warning(c.ref(p), "it has no ValidatingAdmissionPolicyBinding that denies")
	}
}

func failsOpen(p *admissionv1.ValidatingAdmissionPolicy) bool {
	return p.Spec.FailurePolicy != nil && *p.Spec.FailurePolicy == admissionv1.Ignore
}

// denies reports whether a binding of a policy denies the violations of the policy.
func (c *cluster) denies(p *admissionv1.ValidatingAdmissionPolicy) bool {
	return slices.ContainsFunc(c.policyBindings, func(b *admissionv1.ValidatingAdmissionPolicyBinding) bool {
		return b.Spec.PolicyName == p.Name && slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
	})
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
