package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// labelComponent is the label that evergate export sets on the native policies of the backstop.
const labelComponent = "app.kubernetes.io/component"

// nativePolicy is a validating or mutating policy of the backstop with its bindings.
type nativePolicy struct {
	apiObject
	mutates     bool
	failsOpen   bool
	constraints *admissionv1.MatchResources
	bindings    []nativeBinding
}

// nativeBinding is a binding of a native policy.
type nativeBinding struct {
	apiObject
	matches *admissionv1.MatchResources
	denies  bool
}

// backstop returns the policies of the backstop.
func (inv *Inventory) backstop() []nativePolicy {
	var all []nativePolicy
	for _, p := range inv.admissionPolicies {
		if isBackstop(p) {
			all = append(all, nativePolicy{p, false, failsOpen(p), p.Spec.MatchConstraints, inv.bindingsOf(p.Name)})
		}
	}
	for _, p := range inv.mutatingPolicies {
		if isBackstop(p) {
			opens := p.Spec.FailurePolicy != nil && *p.Spec.FailurePolicy == admissionv1.Ignore
			all = append(all, nativePolicy{p, true, opens, p.Spec.MatchConstraints, inv.mutatingBindingsOf(p.Name)})
		}
	}
	return all
}

func isBackstop(o apiObject) bool {
	return isOurs(o) && o.GetLabels()[labelComponent] == export.Component
}

func (inv *Inventory) bindingsOf(policy string) []nativeBinding {
	var all []nativeBinding
	for _, b := range inv.policyBindings {
		if b.Spec.PolicyName == policy {
			all = append(all, nativeBinding{b, b.Spec.MatchResources, slices.Contains(b.Spec.ValidationActions,
				admissionv1.Deny)})
		}
	}
	return all
}

func (inv *Inventory) mutatingBindingsOf(policy string) []nativeBinding {
	var all []nativeBinding
	for _, b := range inv.mutatingBindings {
		if b.Spec.PolicyName == policy {
			all = append(all, nativeBinding{apiObject: b, matches: b.Spec.MatchResources})
		}
	}
	return all
}

// hash returns the hash of the policy that the native policy was exported from.
func (p *nativePolicy) hash() string { return p.GetAnnotations()[export.HashAnnotation] }

// enforces reports whether the native policy has to deny violations. The other native policies warn, count and
// rewrite.
func (p *nativePolicy) enforces() bool { return strings.HasSuffix(p.GetName(), "-enforce") }

// bound reports whether the native policy has a binding that lets it do its task.
func (p *nativePolicy) bound() bool {
	return slices.ContainsFunc(p.bindings, func(b nativeBinding) bool { return b.denies || !p.enforces() })
}

// webhookOf returns an Evergate webhook that a native policy replaces, or nil if the input does not have one.
func (c *cluster) webhookOf(p *nativePolicy) *hook {
	for _, w := range export.Webhooks() {
		if p.GetName() != w.PolicyPrefix() && !strings.HasPrefix(p.GetName(), w.PolicyPrefix()+"-") {
			continue
		}
		if i := slices.IndexFunc(c.hooks, func(h *hook) bool { return h.path() == w.Path }); i >= 0 {
			return c.hooks[i]
		}
	}
	return nil
}

// leavesOut returns the fields with which a policy or a binding excludes objects that the exported policies match.
func leavesOut(m *admissionv1.MatchResources, binding bool) []string {
	var fields []string
	if m == nil {
		return nil
	}
	if m.MatchPolicy != nil && *m.MatchPolicy != admissionv1.Equivalent { // an object of another version
		fields = append(fields, "matchPolicy")
	}
	if !anything(m.ObjectSelector) {
		fields = append(fields, "objectSelector")
	}
	if len(m.ExcludeResourceRules) > 0 {
		fields = append(fields, "excludeResourceRules")
	}
	if binding && len(m.ResourceRules) > 0 {
		fields = append(fields, "resourceRules")
	}
	if !binding && !anything(m.NamespaceSelector) {
		fields = append(fields, "namespaceSelector")
	}
	return fields
}

// namespaceSelector returns the selector of a binding, or nil for every namespace.
func (b *nativeBinding) namespaceSelector() *metav1.LabelSelector {
	if b.matches == nil {
		return nil
	}
	return b.matches.NamespaceSelector
}

// canonical returns a selector in one form: label in (values), sorted.
func canonical(s *metav1.LabelSelector) string {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if s == nil || err != nil {
		return ""
	}
	requirements, _ := parsed.Requirements()
	terms := []string{}
	for _, r := range requirements {
		if r.Operator() == selection.Equals || r.Operator() == selection.DoubleEquals {
			in, err := labels.NewRequirement(r.Key(), selection.In, r.ValuesUnsorted())
			if err != nil {
				return ""
			}
			r = *in
		}
		terms = append(terms, r.String())
	}
	slices.Sort(terms)
	return strings.Join(terms, ",")
}

// neverCalled returns the name of a condition that is never true, or "" if the webhook may be called.
func (h *hook) neverCalled() string { return export.NeverCalled(h.MatchConditions) }

// exported is the export of the policy in the ConfigMap.
type exported struct {
	document policy.Document
	options  export.Options
	policies []apiObject
	lost     []string // names of entries that are not exported, or not completely
}

// exportAs exports the policy for the targets that the backstop uses, with or without --deny-unrewritten. It returns
// false if the input does not have the policy.
func (c *cluster) exportAs(backstop []nativePolicy, unrewritten bool) (exported, bool) {
	p, _ := c.policy()
	doc, ok := c.policyDocument()
	if !ok {
		return exported{}, false
	}
	e := exported{document: doc, options: export.Options{
		Targets: []export.Target{export.VAP}, Exempt: export.ExemptNamespaces(), Hash: p.Hash(),
		DenyUnrewritten: unrewritten, Now: c.now,
	}}
	if slices.ContainsFunc(backstop, func(p nativePolicy) bool { return p.mutates }) {
		e.options.Targets = append(e.options.Targets, export.MAP)
	}
	result := export.Export(doc, e.options)
	for i := range result.Coverage {
		if entry := &result.Coverage[i]; !entry.Complete() {
			e.lost = append(e.lost, entry.Entry.Name)
		}
	}
	for _, o := range result.Objects {
		switch p := o.Object.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			e.policies = append(e.policies, p)
		case *admissionv1.MutatingAdmissionPolicy:
			e.policies = append(e.policies, p)
		}
	}
	return e, true
}

// names returns the names of the exported policies.
func (e *exported) names() []string {
	var names []string
	for _, p := range e.policies {
		names = append(names, p.GetName())
	}
	return names
}

// differences returns the fields in which a native policy differs from the exported policy of the same name, or all
// fields if there is no such exported policy.
func (e *exported) differences(p *nativePolicy) []string {
	var names []string
	wanted := decisiveFields(find(e.policies, "", p.GetName()))
	for i, f := range decisiveFields(p.apiObject) {
		if i >= len(wanted) || !equality.Semantic.DeepEqual(f.value, wanted[i].value) {
			names = append(names, f.name)
		}
	}
	return names
}

// field is one field of a specification.
type field struct {
	name  string
	value any
}

// decisiveFields returns the fields of a native policy that determine its decisions, or nil for any other object.
func decisiveFields(o any) []field {
	switch p := o.(type) {
	case *admissionv1.ValidatingAdmissionPolicy:
		s := &p.Spec
		return []field{
			{"spec.paramKind", s.ParamKind}, {"spec.matchConstraints.resourceRules", resourceRules(s.MatchConstraints)},
			{"spec.matchConditions", s.MatchConditions}, {"spec.variables", s.Variables}, {"spec.validations", s.Validations},
		}
	case *admissionv1.MutatingAdmissionPolicy:
		s := &p.Spec
		return []field{
			{"spec.paramKind", s.ParamKind}, {"spec.matchConstraints.resourceRules", resourceRules(s.MatchConstraints)},
			{"spec.matchConditions", s.MatchConditions}, {"spec.variables", s.Variables}, {"spec.mutations", s.Mutations},
			{"spec.reinvocationPolicy", s.ReinvocationPolicy},
		}
	}
	return nil
}

func resourceRules(m *admissionv1.MatchResources) []admissionv1.NamedRuleWithOperations {
	if m == nil {
		return nil
	}
	return m.ResourceRules
}
