package policy

import (
	"errors"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
)

// loadBalancerClassRules is the loadBalancerClass block: {required: true, allowed: [example.com/internal]}.
type loadBalancerClassRules struct {
	// Required: true means that a LoadBalancer must have a class. The cluster's default does not suffice.
	Required bool `yaml:"required"`
	// Allowed lists the classes that pass. They are compared exactly. A Service without a class passes. [] denies all
	// classes.
	Allowed []loadBalancerClass `yaml:"allowed"`
}

// loadBalancerClass is a value of spec.loadBalancerClass.
type loadBalancerClass string

// UnmarshalText returns an error for an empty text and for characters that do not print.
func (c *loadBalancerClass) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New(`"" is not a class: a Service without one passes unless required is true`)
	}
	*c = loadBalancerClass(b)
	return match.RejectUnprintable(b, "class")
}

func (b *loadBalancerClassRules) Validate() error {
	return rejectNothingPasses(b.Required, b.Allowed, "a class")
}

func (b *loadBalancerClassRules) checks() []rule.Check[serviceView] {
	return rule.Checks(
		rule.When(b.Required, loadBalancerClassRequired(b.Allowed)),
		rule.When(b.Allowed != nil, loadBalancerClassAllowed(b.Allowed)),
	)
}

// loadBalancerClassRequired is the check loadBalancerClass.required. It finds a Service of type LoadBalancer without
// spec.loadBalancerClass, which the cluster's default implementation serves. Its elements are the allowed classes,
// which the message lists.
type loadBalancerClassRequired []loadBalancerClass

func (c loadBalancerClassRequired) Find(svc *serviceView, r *rule.Recorder) {
	if svc.effectiveType() != loadBalancer || svc.LoadBalancerClass != nil && *svc.LoadBalancerClass != "" {
		return
	}
	reason := "is required for a LoadBalancer; set it"
	if len(c) > 0 {
		reason = "is required for a LoadBalancer; allowed: " + text.List(c)
	}
	r.Add(rule.Identity{Check: "loadBalancerClass.required"}, "spec.loadBalancerClass", reason)
}

// loadBalancerClassAllowed is the check loadBalancerClass.allowed. It finds a spec.loadBalancerClass that is not
// listed.
type loadBalancerClassAllowed []loadBalancerClass

func (c loadBalancerClassAllowed) Find(svc *serviceView, r *rule.Recorder) {
	if svc.LoadBalancerClass == nil || *svc.LoadBalancerClass == "" {
		return
	}
	class := *svc.LoadBalancerClass
	if !r.Spend(len(c)) || slices.Contains(c, loadBalancerClass(class)) {
		return
	}
	r.Add(rule.Identity{Check: "loadBalancerClass.allowed", Value: class}, "spec.loadBalancerClass",
		text.Quote(class)+" is not allowed"+rule.Passing(c))
}

// Classes returns spec.loadBalancerClass.
func (svc *serviceView) Classes() [2]string {
	if svc.LoadBalancerClass == nil {
		return [2]string{}
	}
	return [2]string{*svc.LoadBalancerClass}
}
