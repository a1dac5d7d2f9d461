package policy

import (
	"errors"
)

// serviceAnnotationRules is the field annotations of a services entry: what all objects may be asked, and what only
// load balancers are.
type serviceAnnotationRules struct {
	annotationRules
	// RequiredForLoadBalancer lists annotations that a Service of type LoadBalancer must carry, such as the one that
	// keeps its address inside the company's network.
	RequiredForLoadBalancer []annotationRequirement `yaml:"requiredForLoadBalancer"`
}

// Validate implements strict.Validator.
func (b *serviceAnnotationRules) Validate() error {
	errs := []error{
		b.annotationRules.Validate(), refuseEmpty("requiredForLoadBalancer", b.RequiredForLoadBalancer),
		b.refuseDenied("requiredForLoadBalancer", b.RequiredForLoadBalancer, "no LoadBalancer can pass"),
	}
	if len(b.checks()) == 0 {
		errs = append(errs, errNoCheck("denied, required, requiredForLoadBalancer, values or deniedValues"))
	}
	return errors.Join(errs...)
}

func (b *serviceAnnotationRules) checks() []check[Service] {
	if b == nil {
		return nil
	}
	cs := annotationChecks[Service](&b.annotationRules)
	if b.RequiredForLoadBalancer != nil {
		cs = append(cs, loadBalancerAnnotations(b.RequiredForLoadBalancer))
	}
	return cs
}

// loadBalancerAnnotations (annotations.requiredForLoadBalancer) finds, on Services of type LoadBalancer only, each
// annotation that is missing or has a value that its regular expression does not cover.
type loadBalancerAnnotations []annotationRequirement

func (c loadBalancerAnnotations) find(svc *Service, r *report) {
	if svc.typ() != loadBalancer {
		return
	}
	for i := range c {
		if !c[i].demand("annotations.requiredForLoadBalancer", svc.meta(), r) {
			return
		}
	}
}
