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
	Pods, Workloads *Ruleset // for Pods, and for the Pod templates in workloads
	denying         *Ruleset // the rules for Pods, each with only its checks that deny images by name or by tag
}

// Ruleset contains the compiled rules for Pods, or for the Pod templates in workloads.
type Ruleset = rule.Ruleset[podView]

// Compile compiles entries, except entries that are off. It stops when isDone returns true. whole contains the rules of
// the policy to which a rule set belongs. It is nil if the entries are not in a rule set.
func Compile(
	entries []PodsEntry, mirrors *mirror.Table, whole *Rules, exceptions *rule.Exceptions, isDone func() bool,
) *Rules {
	r := &Rules{mirrors: mirrors, whole: whole}
	if whole == nil {
		r.whole = r
	}
	r.Pods = rule.CompileRules(entries, exceptions, isDone, func(e *PodsEntry) rule.Rule[podView] {
		return rule.New(e.RuleHeader, e.checks(r))
	}, nil, nil)
	r.Workloads = rule.CompileRules(entries, exceptions, isDone, func(e *PodsEntry) rule.Rule[podView] {
		h := e.RuleHeader
		h.Weaken(e.modeOfWorkloads())
		return rule.New(h, e.checks(r))
	}, nil, nil)
	r.denying = r.Pods.Only(deniesImages)
	return r
}

// EvaluatePod returns the findings in the images of a Pod. See policy.Policy.EvaluatePod.
func (r *Rules) EvaluatePod(a object.Attributes, pod, old *object.Pod, e *rule.Effort) ([]rule.Finding, error) {
	if !canChangeImages(a) {
		return nil, nil
	}
	return rule.Evaluate(r.Pods, a, viewPod, pod, old, e)
}

// ExplainPod returns for every rule for Pods whether it applies to the Pod.
func (r *Rules) ExplainPod(a object.Attributes, pod *object.Pod) []rule.Trace {
	if !canChangeImages(a) {
		return r.Pods.NotEvaluated("not evaluated: the request cannot change an image")
	}
	return rule.Explain(r.Pods, a, viewPod, pod)
}
