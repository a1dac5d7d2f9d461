package policy

import (
	"github.com/evergate/evergate/policy/internal/images"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

func podRules(_ *blocks, c *compilation) rules[object.Pod] {
	return images.ForPods{Rules: c.policy.images}
}

func workloadRules(_ *blocks, c *compilation) rules[object.Workload] {
	return images.ForWorkloads{Rules: c.policy.images}
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

// ReviewWorkload is like Workloads.Evaluate, and also returns what happens to the images in the Pods.
func (p *Policy) ReviewWorkload(a object.Attributes, w, old *object.Workload, e *Effort) (WorkloadResult, error) {
	return p.images.ReviewWorkload(a, w, old, e)
}

// RewriteTemplates returns what happens to each image in a workload's Pods when its controller creates them. The
// templates are not changed.
func (p *Policy) RewriteTemplates(a object.Attributes, w *object.Workload) ([]TemplateImage, error) {
	return p.images.RewriteTemplates(a, w)
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
