package claim

import (
	"slices"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// GlobbingClasses is the globbingClasses block of a policy: ["alb", "alb-*"]. It lists classes of Ingresses, * for any
// run of characters. For *.example in spec.rules[].host, their controllers serve names at any depth, as the AWS load
// balancer controller does (docs/guide/ingress/annotations.md, host-header conditions). In the specification of
// Ingress, * is one label. It is one label in spec.tls of these Ingresses too, because that is its meaning in
// certificates. The class of an Ingress is spec.ingressClassName or the annotation kubernetes.io/ingress.class. If both
// are set, one listed class is enough. An Ingress without a class is not in the list.
type GlobbingClasses []globbingClass

// globbingClass is a pattern for class names.
type globbingClass match.Glob

// UnmarshalText returns an error for the empty pattern.
func (c *globbingClass) UnmarshalText(b []byte) error {
	var g match.Glob
	err := g.UnmarshalText(b)
	*c = globbingClass(g)
	return err
}

// maxGlobbingClasses is the maximum number of classes. A cluster has one class for each controller, or a few.
const maxGlobbingClasses = 20

// CheckLength returns an error for too many classes.
func (c GlobbingClasses) CheckLength() error {
	if len(c) > maxGlobbingClasses {
		return strict.Fieldf("globbingClasses", "has %d classes; at most %d are read", len(c), maxGlobbingClasses)
	}
	return nil
}

// areGlobbing reports whether the controllers of one of the classes match *.example with names at any depth. An empty
// text is not a class. areGlobbing returns true if the Effort is exceeded, because the wider claim is the safe answer.
func (k *Annotations) areGlobbing(classes [2]string, r *rule.Recorder) bool {
	if k == nil || len(k.globbing) == 0 {
		return false
	}
	for _, class := range classes {
		if class == "" {
			continue
		}
		matches := func(g globbingClass) bool { return match.Glob(g).Match(class) }
		if !r.Spend(rule.StepsOf(len(k.globbing), class)) || slices.ContainsFunc(k.globbing, matches) {
			return true
		}
	}
	return false
}
