package deploy

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/kustomize"
)

// Namespaces opt in to Evergate, or out of it, with the label optInLabel.
const (
	optInLabel    = "evergate.dev/admission"
	optInEnabled  = "enabled"
	optInDisabled = "disabled" // if namespaces opt out
)

// optIn inspects the values of the opt-in label in the selectors, and the two policies that guard it. They have to equal
// the policies of kustomize/base, so their expressions are not read.
func (i *inspection) optIn() {
	label, names := i.guard("evergate-opt-in"), i.guard("evergate-exempt-namespaces")
	scopes, exempt := i.Scopes(), i.Exempt()
	at := slices.IndexFunc(scopes, func(s install.Scope) bool {
		return len(install.RequirementsOn(s.Selector, optInLabel)) > 0
	})
	if label == nil && at >= 0 {
		i.warning("opt-in-guard", scopes[at].Ref, "it selects namespaces by the label %s, which no ValidatingAdmissionPolicy "+
			"guards", optInLabel)
	}
	switch {
	case len(exempt) == 0:
	case names == nil:
		i.warning("opt-in-guard", i.Anchor(), "it excludes namespaces by name, whose creation no ValidatingAdmissionPolicy guards: "+
			"%s", some(exempt))
	default:
		selector := cmp.Or(names.Spec.MatchConstraints, &admissionv1.MatchResources{}).NamespaceSelector
		if open := install.Filter(exempt, func(name string) bool {
			return !install.Selects(selector, map[string]string{"kubernetes.io/metadata.name": name})
		}); len(open) > 0 {
			i.warning("opt-in-guard", i.Ref(names), "webhooks exclude namespaces whose creation it does not guard: %s", some(open))
		}
	}
	i.optInValues(label)
}

// guard returns a policy of kustomize/base that is in the input, or nil. It reports a policy that differs or has no
// effect.
func (i *inspection) guard(name string) *admissionv1.ValidatingAdmissionPolicy {
	is := install.Find[*admissionv1.ValidatingAdmissionPolicy](i.Objects, "", name)
	if is == nil {
		return nil
	}
	for document := range bytes.SplitSeq(kustomize.OptInGuard, []byte("\n---\n")) {
		var want admissionv1.ValidatingAdmissionPolicy
		if err := yaml.Unmarshal(document, &want); err != nil || want.Kind != is.Kind || want.Name != name {
			continue
		}
		var differ []string
		wanted := decisive(&want)
		for n, f := range decisive(is) {
			if !equality.Semantic.DeepEqual(f.value, wanted[n].value) {
				differ = append(differ, f.name)
			}
		}
		if len(differ) > 0 {
			i.warning("opt-in-guard", i.Ref(is), "it differs from kustomize/base of this version in %s", strings.Join(differ, ", "))
		}
	}
	if !slices.ContainsFunc(install.Of[*admissionv1.ValidatingAdmissionPolicyBinding](i.Objects),
		func(b *admissionv1.ValidatingAdmissionPolicyBinding) bool {
			return b.Spec.PolicyName == name && slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
		}) {
		i.warning("opt-in-guard", i.Ref(is), "it has no ValidatingAdmissionPolicyBinding that denies")
	}
	return is
}

// field is a field of a specification.
type field struct {
	name  string
	value any
}

// decisive returns the fields of a policy that determine its decisions, with the defaults of the API server. The
// wiring of the manifests sets the namespaceSelector.
func decisive(p *admissionv1.ValidatingAdmissionPolicy) []field {
	var expressions []string
	for _, v := range p.Spec.Validations {
		expressions = append(expressions, v.Expression)
	}
	constraints := *cmp.Or(p.Spec.MatchConstraints, &admissionv1.MatchResources{})
	var rules []admissionv1.NamedRuleWithOperations
	for _, r := range constraints.ResourceRules {
		r.Scope = cmp.Or(r.Scope, new(admissionv1.AllScopes))
		rules = append(rules, r)
	}
	return []field{
		{"spec.failurePolicy", *cmp.Or(p.Spec.FailurePolicy, new(admissionv1.Fail))},
		{"spec.matchConstraints", []any{rules, constraints.ExcludeResourceRules, install.SelectsAll(constraints.ObjectSelector)}},
		{"spec.matchConditions", p.Spec.MatchConditions}, {"spec.variables", p.Spec.Variables},
		{"spec.validations", expressions},
	}
}

// optInValues inspects whether the selectors can select a namespace with some value of the opt-in label or without the
// label. The guard accepts two values. Without it, a namespace can have any value.
func (i *inspection) optInValues(guard *admissionv1.ValidatingAdmissionPolicy) {
	reported := map[string]bool{} // each value once for all selectors
	for _, s := range i.Scopes() {
		requirements := install.RequirementsOn(s.Selector, optInLabel)
		possible, denied := []labels.Set{{}, {optInLabel: optInEnabled}, {optInLabel: optInDisabled}}, []string(nil)
		for _, r := range requirements {
			for value := range r.Values() {
				if guard == nil {
					possible = append(possible, labels.Set{optInLabel: value})
				} else if value != optInEnabled && value != optInDisabled {
					denied = append(denied, value)
				}
			}
		}
		selectable := slices.ContainsFunc(possible, func(set labels.Set) bool {
			return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return !r.Matches(set) })
		})
		slices.Sort(denied)
		name := some(slices.Compact(denied))
		switch {
		case reported[name] || selectable && len(denied) == 0:
			continue
		case selectable:
			i.warning("opt-in-value", s.Ref, "it has the value %s of the label %s, which the ValidatingAdmissionPolicy %s denies: "+
				"no namespace can have it", name, optInLabel, guard.Name)
		case len(denied) > 0:
			i.error("opt-in-value", s.Ref, "it requires the label %s to be %s, which the ValidatingAdmissionPolicy %s denies: no "+
				"namespace can be selected", optInLabel, name, guard.Name)
		default:
			i.error("opt-in-value", s.Ref, "its requirements on the label %s contradict each other: no namespace can be selected",
				optInLabel)
		}
		reported[name] = true
	}
}
