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

// sourceRangesAnnotation is the older form of spec.loadBalancerSourceRanges. Cloud providers read it where the field is
// empty.
const sourceRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges"

// sourceRangeRules is the field loadBalancerSourceRanges: {required: true, allowed: [10.0.0.0/8]}.
type sourceRangeRules struct {
	// Required: a LoadBalancer must have source ranges, however wide: see Allowed.
	Required bool `yaml:"required"`
	// Allowed lists the ranges that must cover those of a Service; the union of adjacent ranges counts. A Service
	// without ranges passes. [] denies all.
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

// sourceRange is one range as it is written, and its position.
type sourceRange struct {
	written string
	index   int  // in the field; inAnnotation for ranges of the annotation
	hidden  bool // of the annotation where the field is set too, so that it has no effect
	prefix  netip.Prefix
	err     error // why it is not a range
}

// inAnnotation is the index of ranges of the annotation.
const inAnnotation = -1

// path returns the field of the range, as users write it.
func (s *sourceRange) path() string {
	if s.index == inAnnotation {
		return annotationPath(sourceRangesAnnotation)
	}
	return "spec.loadBalancerSourceRanges[" + strconv.Itoa(s.index) + "]"
}

// maxAnnotationRanges is how many ranges of the annotation are judged: as many as the load balancers of any large cloud
// accept. An annotation with more has one finding as a whole.
const maxAnnotationRanges = 5000

// errNoLength is the error of an address where a range is required.
var errNoLength = errors.New("no length such as /24")

// errManyRanges is the error of an annotation that lists too many ranges.
var errManyRanges = fmt.Errorf("it lists more than %d ranges", maxAnnotationRanges)

// sourceRanges returns the ranges of a Service: those of the field, and those of the annotation also where the cloud
// provider ignores it because the field is set, since removing the field would bring them into effect. Spaces around a
// range are ignored.
func (r *report) sourceRanges(svc *Service) []sourceRange {
	if r.sourceRangeList != nil {
		return r.sourceRangeList
	}
	list := strings.TrimSpace(svc.Annotations[sourceRangesAnnotation])
	if !r.spend(stepsOf(1, list)) {
		return nil
	}
	commas := strings.Count(list, ",")
	r.sourceRangeList = make([]sourceRange, 0, len(svc.LoadBalancerSourceRanges)+min(commas, maxAnnotationRanges)+1)
	for i, s := range svc.LoadBalancerSourceRanges {
		if !r.spend(stepsOf(2, s)) {
			return nil
		}
		r.sourceRangeList = append(r.sourceRangeList, newSourceRange(s, i, false))
	}
	if list == "" {
		return r.sourceRangeList
	}
	hidden := len(r.sourceRangeList) > 0
	if commas >= maxAnnotationRanges {
		all := sourceRange{written: list, index: inAnnotation, hidden: hidden, err: errManyRanges}
		r.sourceRangeList = append(r.sourceRangeList, all)
		return r.sourceRangeList
	}
	for s := range strings.SplitSeq(list, ",") {
		if !r.spend(stepsOf(2, s)) {
			return nil
		}
		r.sourceRangeList = append(r.sourceRangeList, newSourceRange(s, inAnnotation, hidden))
	}
	return r.sourceRangeList
}

func newSourceRange(written string, index int, hidden bool) sourceRange {
	s := sourceRange{written: strings.TrimSpace(written), index: index, hidden: hidden}
	s.prefix, s.err = match.ParsePrefix(s.written)
	if s.err == nil && !strings.Contains(s.written, "/") {
		s.err = errNoLength
	}
	return s
}

// hasSourceRanges reports whether the field or the annotation has ranges.
func (s *Service) hasSourceRanges() bool {
	return len(s.LoadBalancerSourceRanges) > 0 || strings.TrimSpace(s.Annotations[sourceRangesAnnotation]) != ""
}

// sourceRangesRequired (loadBalancerSourceRanges.required) finds a Service of type LoadBalancer that has ranges neither
// in spec.loadBalancerSourceRanges nor in the annotation service.beta.kubernetes.io/load-balancer-source-ranges, so
// that every client may connect. 0.0.0.0/0 passes: it is an explicit choice.
type sourceRangesRequired struct{}

func (sourceRangesRequired) find(svc *Service, r *report) {
	if svc.effectiveType() != loadBalancer || svc.hasSourceRanges() {
		return
	}
	r.add(identity{check: "loadBalancerSourceRanges.required"}, "spec.loadBalancerSourceRanges",
		"is required for a LoadBalancer; list the address ranges that may call it")
}

// sourceRangesAllowed (loadBalancerSourceRanges.allowed) finds each range that the allowed ranges do not wholly cover,
// in spec.loadBalancerSourceRanges and in the annotation service.beta.kubernetes.io/load-balancer-source-ranges. A
// range inside one that has a pre-existing finding is pre-existing too, unless the field hid that one. A range that not
// all parsers accept (10.0.0.010/8, a zone) is found.
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
		if f := r.tryAdd(id); f != nil {
			f.Path, f.Reason = s.path(), text.Quote(s.written)+" is not allowed"+c.passing
			if s.err != nil {
				f.Reason = text.Quote(s.written) + " is not an address range: " + match.AddrReason(s.err).Error()
			}
		}
	}
}
