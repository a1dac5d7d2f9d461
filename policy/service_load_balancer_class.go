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

// Find is the checks loadBalancerClass.required and loadBalancerClass.allowed. It finds a Service of type LoadBalancer
// without spec.loadBalancerClass, which the cluster's default implementation serves, and a class that is not listed.
func (b *loadBalancerClassRules) Find(svc *serviceView, r *rule.Recorder) {
	const field = "spec.loadBalancerClass"
	class := svc.Classes()[0]
	switch {
	case class == "" && b.Required && svc.effectiveType() == loadBalancer:
		reason := "is required for a LoadBalancer; set it"
		if len(b.Allowed) > 0 {
			reason = "is required for a LoadBalancer; allowed: " + text.List(b.Allowed)
		}
		r.Add(rule.Identity{Check: "loadBalancerClass.required"}, field, reason)
	case class != "" && b.Allowed != nil && r.Spend(len(b.Allowed)) &&
		!slices.Contains(b.Allowed, loadBalancerClass(class)):
		r.Add(rule.Identity{Check: "loadBalancerClass.allowed", Value: class}, field,
			text.Quote(class)+" is not allowed"+rule.Passing(b.Allowed))
	}
}

// Classes returns spec.loadBalancerClass.
func (svc *serviceView) Classes() [2]string {
	if svc.LoadBalancerClass == nil {
		return [2]string{}
	}
	return [2]string{*svc.LoadBalancerClass}
}
