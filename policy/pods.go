package policy

import (
	"github.com/evergate/evergate/policy/internal/images"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// podRules is embedded in Policy, which has its methods RewritePod, ReviewWorkload and RewriteTemplates.
type podRules = images.Rules

func rulesForPods(_ *blocks, c *compilation) rules[object.Pod] {
	return images.ForPods{Rules: c.policy.podRules}
}

func rulesForWorkloads(_ *blocks, c *compilation) rules[object.Workload] {
	return images.ForWorkloads{Rules: c.policy.podRules}
}

// PullSecrets returns the names of Secrets that may be added to Pods in a namespace, sorted and each once. They are the
// names in the mirrors entries in mode enforce that can apply to Pods in this namespace.
func (p *Policy) PullSecrets(namespace string) []string { return p.mirrors.PullSecrets(namespace) }

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
