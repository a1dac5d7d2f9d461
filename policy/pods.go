package policy

import (
	"github.com/evergate/evergate/policy/internal/images"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// EvaluatePod evaluates the images of a Pod as they will be pulled. old is the Pod before an update, and nil for other
// operations. The evaluation stops after a thousand introduced findings. If any rule denies the request, at least one
// of these findings denies it. EvaluatePod also returns the first thousand pre-existing findings. An error comes from
// the Effort and means that the evaluation did not finish. A nil Effort has the limits of a new one. The same applies
// to the methods for other kinds.
func (p *Policy) EvaluatePod(a object.Attributes, pod, old *object.Pod, e *Effort) ([]Finding, error) {
	return p.images.EvaluatePod(a, pod, old, e)
}

// ExplainPod returns for every pods rule whether it applies to the Pod.
func (p *Policy) ExplainPod(a object.Attributes, pod *object.Pod) []RuleTrace {
	return p.images.ExplainPod(a, pod)
}

// RewritePod returns the mirror that each image of pod is pulled from. old is the Pod before an update, or nil.
// RewritePod rewrites only images that the update changes, because a policy must not change Pods that existed before
// it. It returns the error of e if e exceeds its limit or expires. A nil Effort has the limits of a new Effort.
func (p *Policy) RewritePod(a object.Attributes, pod, old *object.Pod, e *Effort) (Rewriting, error) {
	return p.images.RewritePod(a, pod, old, e)
}

// PullSecrets returns the names of Secrets that may be added to Pods in a namespace, sorted and each once. They are the
// names in the mirrors entries in mode enforce that can apply to Pods in this namespace.
func (p *Policy) PullSecrets(namespace string) []string { return p.mirrors.PullSecrets(namespace) }

// EvaluateWorkload evaluates the templates in a workload as the Pods that its controller will create. It rewrites their
// images in memory by the mirrors, and then applies the rules of pods. old is the workload before an update, or nil. A
// finding in a template of old is pre-existing in every template of w. Pre-existing findings are in mode audit, because
// this update does not introduce them. EvaluateWorkload returns the error of e if e exceeds its limit or expires.
//
// If a controller owns the workload, only rules with workloads in mode enforce evaluate it, because users already
// received warnings when they wrote the owner. These rules do not evaluate the workload if the user of the request is a
// Kubernetes controller. This exception depends on the user, because tenants can write owner references.
func (p *Policy) EvaluateWorkload(a object.Attributes, w, old *object.Workload, e *Effort) ([]Finding, error) {
	result, err := p.images.ReviewWorkload(a, w, old, e)
	return result.Findings, err
}

// ReviewWorkload is like EvaluateWorkload, and also returns what happens to the images in the Pods.
func (p *Policy) ReviewWorkload(a object.Attributes, w, old *object.Workload, e *Effort) (WorkloadResult, error) {
	return p.images.ReviewWorkload(a, w, old, e)
}

// RewriteTemplates returns what happens to each image in a workload's Pods when its controller creates them. The
// templates are not changed.
func (p *Policy) RewriteTemplates(a object.Attributes, w *object.Workload) ([]TemplateImage, error) {
	return p.images.RewriteTemplates(a, w)
}

// ExplainWorkload returns, for every rule of pods, whether it applies to at least one template of the workload.
func (p *Policy) ExplainWorkload(a object.Attributes, w *object.Workload) []RuleTrace {
	return p.images.ExplainWorkload(a, w)
}

// Recorded returns a copy of a Pod with the original images from its record and without the record. An entry of the
// record counts only if one of the policies rewrites the original image to the Pod's current image. An image that was
// changed later leaves an entry that does not count. stale is the number of entries that do not count. Recorded is only
// for reports, because tenants can write the record. If the Pod does not have a valid record, Recorded returns p
// itself.
func Recorded(p *object.Pod, a object.Attributes, by ...*Policy) (pod *object.Pod, stale int) {
	tables := make([]*mirror.Table, len(by))
	for i, q := range by {
		tables[i] = q.mirrors
	}
	s := rule.NewSubject(images.AttributesOfPods(a), &p.Meta, [2]string{}, nil)
	return mirror.Recorded(p, &s, tables)
}
