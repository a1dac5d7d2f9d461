package policy

import (
	"errors"

	"github.com/evergate/evergate/policy/internal/rule"
)

// serviceAnnotationRules is the annotations block of a services entry: the rules for all objects, and a rule only for
// load balancers.
type serviceAnnotationRules struct {
	annotationRules
	// RequiredForLoadBalancer lists annotations that a Service of type LoadBalancer must have, for example the annotation
	// that makes its address internal.
	RequiredForLoadBalancer []annotationRequirement `yaml:"requiredForLoadBalancer"`
}

func (b *serviceAnnotationRules) Validate() error {
	return errors.Join(
		b.faults(), rule.RejectEmpty("requiredForLoadBalancer", b.RequiredForLoadBalancer),
		b.rejectDenied("requiredForLoadBalancer", b.RequiredForLoadBalancer, "no LoadBalancer can pass"),
		rule.RejectNone(b.checks(), "denied, required, requiredForLoadBalancer, values or deniedValues"),
	)
}

func (b *serviceAnnotationRules) checks() []rule.Check[serviceView] {
	return append(annotationChecks[serviceView](&b.annotationRules),
		rule.Checks(rule.When(b.RequiredForLoadBalancer != nil, loadBalancerAnnotations(b.RequiredForLoadBalancer)))...)
}

// loadBalancerAnnotations is the check annotations.requiredForLoadBalancer. On Services of type LoadBalancer, it finds
// each listed annotation that is missing or has a value that its regular expression does not match.
type loadBalancerAnnotations []annotationRequirement

func (c loadBalancerAnnotations) Find(svc *serviceView, r *rule.Recorder) {
	if svc.effectiveType() != loadBalancer {
		return
	}
	for i := range c {
		if !c[i].check("annotations.requiredForLoadBalancer", &svc.Meta, r) {
			return
		}
	}
}
