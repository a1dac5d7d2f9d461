package images

import (
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// Rules contains the compiled pods entries of a policy or of a rule set, and the mirrors. It is immutable.
type Rules struct {
	mirrors         *mirror.Table
	whole           *Rules   // of the policy without rule sets; its rules decide whether images are rewritten
	pods, workloads *ruleset // for Pods, and for the Pod templates in workloads
	denying         *ruleset // the rules for Pods, each with only its checks that deny images by name or by tag, or nil
}

// ruleset contains the compiled rules for Pods, or for the Pod templates in workloads.
type ruleset = rule.Ruleset[podView]

// Compile compiles entries, except entries that are off. It stops when isDone returns true. whole contains the rules of
// the policy to which a rule set belongs. It is nil if the entries are not in a rule set.
func Compile(
	entries []PodsEntry, mirrors *mirror.Table, whole *Rules, exceptions *rule.Exceptions, isDone func() bool,
) *Rules {
	r := &Rules{mirrors: mirrors, whole: whole}
	if whole == nil {
		r.whole = r
	}
	r.pods = rule.CompileRules(entries, exceptions, isDone, func(e *PodsEntry) rule.Rule[podView] {
		return rule.New(e.RuleHeader, e.checks(r))
	}, nil, nil)
	r.workloads = rule.CompileRules(entries, exceptions, isDone, func(e *PodsEntry) rule.Rule[podView] {
		h := e.RuleHeader
		h.Weaken(e.modeOfWorkloads())
		return rule.New(h, e.checks(r))
	}, nil, nil)
	r.denying = r.pods.Only(deniesImages)
	return r
}

// ForPods evaluates Pods.
type ForPods struct{ *Rules }

// Evaluate returns the findings in the images of a Pod as they will be pulled.
func (r ForPods) Evaluate(a object.Attributes, pod, old *object.Pod, e *rule.Effort) ([]rule.Finding, error) {
	if !canChangeImages(a) {
		return nil, nil
	}
	return rule.Evaluate(r.pods, a, r.viewPod, pod, old, e)
}

// Explain returns for every rule for Pods whether it applies to the Pod.
func (r ForPods) Explain(a object.Attributes, pod *object.Pod) []rule.Trace {
	if !canChangeImages(a) {
		return rule.ExplainParts(r.pods, nil, rule.Audit, "not evaluated: the request cannot change an image")
	}
	return rule.Explain(r.pods, a, r.viewPod, pod)
}

// StrictestMode returns the strictest mode of the rules for Pods.
func (r ForPods) StrictestMode() rule.Mode { return r.pods.StrictestMode() }
