package policy

import (
	"errors"
	"fmt"
	"strings"
)

// sourceRangesAnnotation is the older way to write spec.loadBalancerSourceRanges. Cloud providers read it when the
// field is empty.
const sourceRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges"

// sourceRangeRules is the field loadBalancerSourceRanges: {required: true, allowed: [10.0.0.0/8]}.
type sourceRangeRules struct {
	// Required: a LoadBalancer must say who may call it. It does not say how wide the answer may be: see Allowed.
	Required bool `yaml:"required"`
	// Allowed lists the ranges within which those of a Service must lie; what lies in two neighbours together passes. A
	// Service without ranges passes. [] denies all.
	Allowed []cidr `yaml:"allowed"`
}

// Validate implements strict.Validator.
func (b *sourceRangeRules) Validate() error {
	switch {
	case !b.Required && b.Allowed == nil:
		return errNoCheck("required: true or allowed")
	case b.Required && b.Allowed != nil && len(b.Allowed) == 0:
		return errNothingPasses("a range")
	}
	return nil
}

func (b *sourceRangeRules) checks() []check[Service] {
	var cs []check[Service]
	if b != nil && b.Required {
		cs = append(cs, sourceRangesRequired{})
	}
	if b != nil && b.Allowed != nil {
		cs = append(cs, sourceRangesAllowed{newCIDRSet(b.Allowed), passing(cidrStrings(b.Allowed))})
	}
	return cs
}

// sourceRange is one range as it is written, and where.
type sourceRange struct {
	path, text string
	hidden     bool // stands in the annotation, behind the field
}

// sourceRanges lists the ranges of a Service: those of the field, and those of the annotation also where the field
// hides it from the cloud provider, since removing the field would bring it to light. Spaces around a range do not count.
func (s *Service) sourceRanges() []sourceRange {
	var all []sourceRange
	for i, text := range s.LoadBalancerSourceRanges {
		path := fmt.Sprintf("spec.loadBalancerSourceRanges[%d]", i)
		all = append(all, sourceRange{path: path, text: strings.TrimSpace(text)})
	}
	hidden := len(all) > 0
	if list := strings.TrimSpace(s.Annotations[sourceRangesAnnotation]); list != "" {
		for text := range strings.SplitSeq(list, ",") {
			all = append(all, sourceRange{annotationPath(sourceRangesAnnotation), strings.TrimSpace(text), hidden})
		}
	}
	return all
}

// sourceRangesRequired (loadBalancerSourceRanges.required) finds a Service of type LoadBalancer that has ranges neither
// in spec.loadBalancerSourceRanges nor in the annotation service.beta.kubernetes.io/load-balancer-source-ranges: anybody
// may call it. 0.0.0.0/0 is a range like any other here, a choice that was written down.
type sourceRangesRequired struct{}

func (sourceRangesRequired) find(svc *Service, r *report) {
	if svc.typ() != loadBalancer || len(svc.sourceRanges()) > 0 {
		return
	}
	r.add(Finding{
		Check:  "loadBalancerSourceRanges.required",
		Path:   "spec.loadBalancerSourceRanges",
		Reason: "is required for a LoadBalancer; list the address ranges that may call it",
	})
}

// sourceRangesAllowed (loadBalancerSourceRanges.allowed) finds each range that is not wholly allowed, in
// spec.loadBalancerSourceRanges and in the annotation service.beta.kubernetes.io/load-balancer-source-ranges. A range
// inside one that offended before an update is no news, unless that one stood behind the field and had no effect. What
// is no range to everybody (10.0.0.010/8, a zone) is found.
type sourceRangesAllowed struct {
	ranges  cidrSet
	passing string
}

func (c sourceRangesAllowed) find(svc *Service, r *report) {
	for _, s := range svc.sourceRanges() {
		f := Finding{Check: "loadBalancerSourceRanges.allowed", Path: s.path, Idle: s.hidden}
		p, err := parseRange(s.text)
		if err == nil && !strings.Contains(s.text, "/") {
			err = errors.New("no length such as /24")
		}
		switch {
		case err != nil:
			f.Value, f.Reason = s.text, fmt.Sprintf("%s is not an address range: %v", quoted(s.text), err)
		case c.ranges.covers(p):
			continue
		default:
			f.Range, f.Reason = p.Masked(), quoted(s.text)+" is not allowed"+c.passing
		}
		r.add(f)
	}
}
