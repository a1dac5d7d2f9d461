package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
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
	Allowed []match.CIDR `yaml:"allowed"`
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
		cs = append(cs, sourceRangesAllowed{match.NewCIDRSet(b.Allowed), passing(stringsOf(b.Allowed))})
	}
	return cs
}

// sourceRange is one range as it is written, and where.
type sourceRange struct {
	written string
	index   int  // in the field; inAnnotation if it stands there
	hidden  bool // stands in the annotation, behind the field
	prefix  netip.Prefix
	err     error // why it is no range
}

// inAnnotation is the index of ranges that do not stand in the field.
const inAnnotation = -1

func (s *sourceRange) path() string {
	if s.index == inAnnotation {
		return annotationPath(sourceRangesAnnotation)
	}
	return "spec.loadBalancerSourceRanges[" + strconv.Itoa(s.index) + "]"
}

// maxAnnotationRanges is how many ranges of the annotation are judged: as many as the load balancers of any large cloud
// take. What lists more is found as a whole.
const maxAnnotationRanges = 5000

// errNoLength says what is wrong with an address where a range should be.
var errNoLength = errors.New("no length such as /24")

// errManyRanges says what is wrong with an annotation that lists more.
var errManyRanges = fmt.Errorf("it lists more than %d ranges", maxAnnotationRanges)

// sourceRanges lists the ranges of a Service, parsed once for all rules: those of the field, and those of the annotation
// also where the field hides it from the cloud provider, since removing the field would bring it to light. Spaces around
// a range do not count.
func (r *report) sourceRanges(svc *Service) []sourceRange {
	if r.ranges != nil {
		return r.ranges
	}
	list := strings.TrimSpace(svc.Annotations[sourceRangesAnnotation])
	if !r.spend(stepsOf(1, list)) {
		return nil
	}
	commas := strings.Count(list, ",")
	r.ranges = make([]sourceRange, 0, len(svc.LoadBalancerSourceRanges)+min(commas, maxAnnotationRanges)+1)
	for i, s := range svc.LoadBalancerSourceRanges {
		if !r.spend(stepsOf(2, s)) {
			return nil
		}
		r.ranges = append(r.ranges, newSourceRange(s, i, false))
	}
	if list == "" {
		return r.ranges
	}
	hidden := len(r.ranges) > 0
	if commas >= maxAnnotationRanges {
		all := sourceRange{written: list, index: inAnnotation, hidden: hidden, err: errManyRanges}
		r.ranges = append(r.ranges, all)
		return r.ranges
	}
	for s := range strings.SplitSeq(list, ",") {
		if !r.spend(stepsOf(2, s)) {
			return nil
		}
		r.ranges = append(r.ranges, newSourceRange(s, inAnnotation, hidden))
	}
	return r.ranges
}

func newSourceRange(written string, index int, hidden bool) sourceRange {
	s := sourceRange{written: strings.TrimSpace(written), index: index, hidden: hidden}
	s.prefix, s.err = match.ParsePrefix(s.written)
	if s.err == nil && !strings.Contains(s.written, "/") {
		s.err = errNoLength
	}
	return s
}

// hasSourceRanges reports whether a Service says anywhere who may call it.
func (s *Service) hasSourceRanges() bool {
	return len(s.LoadBalancerSourceRanges) > 0 || strings.TrimSpace(s.Annotations[sourceRangesAnnotation]) != ""
}

// sourceRangesRequired (loadBalancerSourceRanges.required) finds a Service of type LoadBalancer that has ranges neither
// in spec.loadBalancerSourceRanges nor in the annotation service.beta.kubernetes.io/load-balancer-source-ranges: anybody
// may call it. 0.0.0.0/0 is a range like any other here, a choice that was written down.
type sourceRangesRequired struct{}

func (sourceRangesRequired) find(svc *Service, r *report) {
	if svc.typ() != loadBalancer || svc.hasSourceRanges() {
		return
	}
	r.add(identity{check: "loadBalancerSourceRanges.required"}, "spec.loadBalancerSourceRanges",
		"is required for a LoadBalancer; list the address ranges that may call it")
}

// sourceRangesAllowed (loadBalancerSourceRanges.allowed) finds each range that is not wholly allowed, in
// spec.loadBalancerSourceRanges and in the annotation service.beta.kubernetes.io/load-balancer-source-ranges. A range
// inside one that offended before an update is no news, unless that one stood behind the field and had no effect. What
// is no range to everybody (10.0.0.010/8, a zone) is found.
type sourceRangesAllowed struct {
	ranges  match.CIDRSet
	passing string
}

func (c sourceRangesAllowed) find(svc *Service, r *report) {
	ranges := r.sourceRanges(svc)
	for i := range ranges {
		s := &ranges[i]
		if !r.spend(1) {
			return
		}
		id := identity{check: "loadBalancerSourceRanges.allowed", idle: s.hidden}
		switch {
		case s.err != nil:
			id.value = s.written
		case c.ranges.Covers(s.prefix):
			continue
		default:
			id.prefix = s.prefix.Masked()
		}
		if f := r.found(id); f != nil {
			f.Path, f.Reason = s.path(), text.Quote(s.written)+" is not allowed"+c.passing
			if s.err != nil {
				f.Reason = text.Quote(s.written) + " is not an address range: " + match.AddrReason(s.err).Error()
			}
		}
	}
}
