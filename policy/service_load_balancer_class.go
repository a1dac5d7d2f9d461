package policy

import (
	"fmt"
	"slices"

	"github.com/evergate/evergate/policy/internal/strict"
)

// loadBalancerClassRules is the field loadBalancerClass: {required: true, allowed: [example.com/internal]}.
type loadBalancerClassRules struct {
	// Required: a LoadBalancer must name a class; the cluster's default is not good enough.
	Required bool `yaml:"required"`
	// Allowed lists the classes that pass, compared exactly; a Service that names none passes. [] denies all.
	Allowed []string `yaml:"allowed"`
}

// Validate implements strict.Validator.
func (b *loadBalancerClassRules) Validate() error {
	switch {
	case !b.Required && b.Allowed == nil:
		return errNoCheck("required: true or allowed")
	case b.Required && b.Allowed != nil && len(b.Allowed) == 0:
		return errNothingPasses("a class")
	case slices.Contains(b.Allowed, ""):
		return strict.Fieldf("allowed", `"" is not a class: a Service without one passes unless required is true`)
	}
	return nil
}

func (b *loadBalancerClassRules) checks() []check[Service] {
	var cs []check[Service]
	if b != nil && b.Required {
		cs = append(cs, loadBalancerClassRequired(b.Allowed))
	}
	if b != nil && b.Allowed != nil {
		cs = append(cs, loadBalancerClassAllowed(b.Allowed))
	}
	return cs
}

// loadBalancerClassRequired (loadBalancerClass.required) finds a Service of type LoadBalancer without
// spec.loadBalancerClass: the cluster's default implementation takes it. It holds what is allowed, for the sentence.
type loadBalancerClassRequired []string

func (c loadBalancerClassRequired) find(svc *Service, r *report) {
	if svc.typ() != loadBalancer || svc.LoadBalancerClass != nil && *svc.LoadBalancerClass != "" {
		return
	}
	f := Finding{Check: "loadBalancerClass.required", Path: "spec.loadBalancerClass"}
	f.Reason = "is required for a LoadBalancer; set it"
	if len(c) > 0 {
		f.Reason = fmt.Sprintf("is required for a LoadBalancer; allowed: %s", listing(c))
	}
	r.add(f)
}

// loadBalancerClassAllowed (loadBalancerClass.allowed) finds a spec.loadBalancerClass that is not listed.
type loadBalancerClassAllowed []string

func (c loadBalancerClassAllowed) find(svc *Service, r *report) {
	if svc.LoadBalancerClass == nil || *svc.LoadBalancerClass == "" || slices.Contains(c, *svc.LoadBalancerClass) {
		return
	}
	r.add(Finding{
		Check:  "loadBalancerClass.allowed",
		Path:   "spec.loadBalancerClass",
		Reason: quoted(*svc.LoadBalancerClass) + " is not allowed" + passing(c),
		Value:  *svc.LoadBalancerClass,
	})
}
