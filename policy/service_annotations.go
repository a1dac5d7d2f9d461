package policy

import (
	"errors"

	"github.com/evergate/evergate/policy/internal/strict"
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
	errs := []error{b.annotationRules.Validate(), refuseEmpty("requiredForLoadBalancer", b.RequiredForLoadBalancer)}
	for _, q := range b.RequiredForLoadBalancer {
		if g, denied := matchAny(b.Denied, string(q.Key)); denied {
			errs = append(errs, strict.Fieldf("requiredForLoadBalancer",
				"%s is also denied, by %s: no LoadBalancer can pass", q.Key, g))
		}
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
		if f, unmet := c[i].unmet(svc.meta()); unmet {
			f.Check = "annotations.requiredForLoadBalancer"
			r.add(f)
		}
	}
}
