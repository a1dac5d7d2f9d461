package policy

import (
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// globbingClasses is the block globbingClasses of a policy: ["alb", "alb-*"], the classes of Ingresses, * for any run
// of characters, whose controllers serve names at any depth by *.example in spec.rules[].host, as the AWS load balancer
// controller does (docs/guide/ingress/annotations.md, host-header conditions). By the specification of Ingress it is
// one label, and so it is in spec.tls of these Ingresses too, since certificates mean that. An Ingress names its class
// in spec.ingressClassName or in the annotation kubernetes.io/ingress.class; where both are set, one of them in the
// list is enough. One without a class is none of them.
type globbingClasses []globbingClass

// globbingClass is a pattern for the names of classes.
type globbingClass match.Glob

// UnmarshalText refuses the empty pattern.
func (c *globbingClass) UnmarshalText(b []byte) error {
	var g match.Glob
	err := g.UnmarshalText(b)
	*c = globbingClass(g)
	return err
}

// maxGlobbingClasses is how many classes may be listed: a cluster has one for each controller, or few.
const maxGlobbingClasses = 20

// validate returns an error for too many classes.
func (c globbingClasses) validate() error {
	if len(c) > maxGlobbingClasses {
		return strict.Fieldf("globbingClasses", "has %d classes; at most %d are read", len(c), maxGlobbingClasses)
	}
	return nil
}

// known returns what is known of annotations and of these classes.
func (c globbingClasses) known(of *knownAnnotations) *knownAnnotations {
	if len(c) == 0 {
		return of
	}
	with := *of
	with.globbing = c
	return &with
}

// globs reports whether *.example in a rule of the Ingress is names at any depth.
func (ing *ingressView) globs(r *report) bool {
	if ing.known == nil || len(ing.known.globbing) == 0 {
		return false
	}
	for _, class := range ing.classNames() {
		if !r.spend(stepsOf(len(ing.known.globbing), class)) {
			return true // which is the wider claim
		}
		for _, g := range ing.known.globbing {
			if match.Glob(g).Match(class) {
				return true
			}
		}
	}
	return false
}
