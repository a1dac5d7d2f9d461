package deploy

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// optInValue checks that the webhooks can select a namespace with some value of the opt-in label or without the label.
// If the installation has only native policies, it checks their bindings instead. It also checks that the
// ValidatingAdmissionPolicy that guards the label accepts each value in the selectors. If a guard does not contain the
// value enabled, the check assumes that the guard accepts every value.
func optInValue() check {
	return check{
		id: "opt-in-value", severity: Error,
		finds: "a namespaceSelector that no value of the opt-in label satisfies. A namespaceSelector that can be " +
			"satisfied, but also contains a value that the admission policy for the label denies, is only a warning",
		why: "if no value of the label satisfies the selector, Evergate does not rewrite or check any object, and no " +
			"error shows this. If the admission policy denies the value that exempts a namespace, no namespace can be " +
			"exempted",
		fix: "in every namespaceSelector, write " + optInLabel + " In [" + optInEnabled + "] to opt in, or NotIn " +
			"[" + optInDisabled + "] to opt out",
		run: func(c *cluster, r *reporter) {
			reported := map[string]bool{} // each value once for all selectors
			for _, s := range c.scopes() {
				requirements := onLabel(s.selector)
				guard, denied := c.deniedValues(requirements)
				selectable := slices.ContainsFunc(c.possibleLabels(requirements), func(set labels.Set) bool {
					return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return !r.Matches(set) })
				})
				name := some(denied)
				switch {
				case reported[name] || selectable && len(denied) == 0:
					continue
				case selectable:
					r.warning(s.ref, "it has the value %s of the label %s, which the ValidatingAdmissionPolicy %s denies: no "+
						"namespace can have it", name, optInLabel, guard)
				case len(denied) > 0:
					r.error(s.ref, "it requires the label %s to be %s, which the ValidatingAdmissionPolicy %s denies: no namespace "+
						"can be selected", optInLabel, name, guard)
				default:
					r.error(s.ref, "its requirements on the label %s contradict each other: no namespace can be selected",
						optInLabel)
				}
				reported[name] = true
			}
		},
	}
}

// onLabel returns the requirements of a selector on the opt-in label.
func onLabel(s *metav1.LabelSelector) []labels.Requirement {
	if anything(s) {
		return nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil // the API server rejects it
	}
	requirements, _ := parsed.Requirements()
	return slices.DeleteFunc(requirements, func(r labels.Requirement) bool { return r.Key() != optInLabel })
}

// deniedValues returns the values in requirements that a guard of the label denies, and the name of the guard.
func (c *cluster) deniedValues(requirements []labels.Requirement) (guard string, denied []string) {
	for _, p := range c.optInGuards() {
		accepts := listedBy(p)
		if !accepts(optInEnabled) {
			continue
		}
		for _, r := range requirements {
			for value := range r.Values() {
				if !accepts(value) {
					guard, denied = p.Name, append(denied, value)
				}
			}
		}
	}
	slices.Sort(denied)
	return guard, slices.Compact(denied)
}

// possibleLabels returns the opt-in labels that a namespace can have: none, or a value that every guard accepts.
func (c *cluster) possibleLabels(requirements []labels.Requirement) []labels.Set {
	_, denied := c.deniedValues(requirements)
	sets := []labels.Set{{}, {optInLabel: optInEnabled}, {optInLabel: optInDisabled}}
	for _, r := range requirements {
		for value := range r.Values() {
			if !slices.Contains(denied, value) {
				sets = append(sets, labels.Set{optInLabel: value})
			}
		}
	}
	return sets
}

// optInGuards returns the ValidatingAdmissionPolicies with an expression about the opt-in label.
func (c *cluster) optInGuards() []*admissionv1.ValidatingAdmissionPolicy {
	return filter(c.admissionPolicies, mentionsLabel)
}
