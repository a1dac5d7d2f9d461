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

// azureRangesAnnotation lists ranges that Azure adds to those of the field.
const azureRangesAnnotation = "service.beta.kubernetes.io/azure-allowed-ip-ranges"

// clientAnnotations are annotations by which a load balancer takes clients that are not in the ranges of the Service:
// by tags, security groups, prefix lists, or access lists of a cloud, of which the ranges are not known here, or since
// its controller leaves its rules alone.
func clientAnnotations() []string {
	return []string{
		"service.beta.kubernetes.io/alibaba-cloud-loadbalancer-acl-id",
		"service.beta.kubernetes.io/aws-load-balancer-extra-security-groups",
		"service.beta.kubernetes.io/aws-load-balancer-security-group-prefix-lists",
		"service.beta.kubernetes.io/aws-load-balancer-security-groups",
		"service.beta.kubernetes.io/azure-allowed-service-tags",
		"service.beta.kubernetes.io/do-loadbalancer-allow-rules",
		"service.beta.kubernetes.io/linode-loadbalancer-firewall-acl",
		"service.beta.kubernetes.io/linode-loadbalancer-firewall-id",
	}
}

// sourceRangeRules is the field loadBalancerSourceRanges: {required: true, allowed: [10.0.0.0/8]}.
type sourceRangeRules struct {
	// Required: a LoadBalancer must have source ranges, however wide: see Allowed.
	Required bool `yaml:"required"`
	// Allowed lists the ranges that must cover those of a Service; the union of adjacent ranges counts. A Service
	// without ranges passes. [] denies all. Annotations by which a cloud takes other clients, such as security groups and
	// service tags, do not pass.
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

func (b *sourceRangeRules) checks() []check[serviceView] {
	var cs []check[serviceView]
	if b != nil && b.Required {
		cs = append(cs, sourceRangesRequired{})
	}
	if b != nil && b.Allowed != nil {
		cs = append(cs, sourceRangesAllowed{match.NewCIDRSet(b.Allowed), passing(stringsOf(b.Allowed))})
		cs = append(cs, otherClients(clientAnnotations()))
	}
	return cs
}

// sourceRange is one range as it is written, and its position.
type sourceRange struct {
	written string
	index   int  // in the field; inAnnotation or inAzureAnnotation for ranges of an annotation
	hidden  bool // of the annotation where the field is set too, so that it has no effect
	prefix  netip.Prefix
	err     error // why it is not a range
}

// The indexes of ranges of annotations.
const (
	inAnnotation      = -1
	inAzureAnnotation = -2
)

// path returns the field of the range, as users write it.
func (s *sourceRange) path() string {
	switch s.index {
	case inAnnotation:
		return annotationPath(sourceRangesAnnotation)
	case inAzureAnnotation:
		return annotationPath(azureRangesAnnotation)
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
// provider ignores it because the field is set, since removing the field would bring them into effect; and those that
// Azure adds. Spaces around a range are ignored.
func (svc *serviceView) sourceRanges(r *report) []sourceRange {
	if svc.ranges != nil {
		return svc.ranges
	}
	list := strings.TrimSpace(svc.Annotations[sourceRangesAnnotation])
	azure := strings.TrimSpace(svc.Annotations[azureRangesAnnotation])
	if !r.spend(stepsOf(1, list) + stepsOf(1, azure)) {
		return nil
	}
	all := make([]sourceRange, 0, len(svc.LoadBalancerSourceRanges)+rangesIn(list)+rangesIn(azure))
	for i, s := range svc.LoadBalancerSourceRanges {
		if !r.spend(stepsOf(2, s)) {
			return nil
		}
		all = append(all, newSourceRange(s, i, false))
	}
	hidden := len(all) > 0
	all, ok := annotationRanges(all, list, inAnnotation, hidden, r)
	if ok {
		all, ok = annotationRanges(all, azure, inAzureAnnotation, false, r)
	}
	if !ok {
		return nil
	}
	svc.ranges = all
	return all
}

// rangesIn returns how many ranges of an annotation are kept.
func rangesIn(list string) int {
	n := 1 + strings.Count(list, ",")
	if list == "" || n > maxAnnotationRanges {
		return min(len(list), 1)
	}
	return n
}

// annotationRanges appends the ranges of an annotation. ok is false if the steps for them are not available.
func annotationRanges(all []sourceRange, list string, index int, hidden bool, r *report) (_ []sourceRange, ok bool) {
	switch {
	case list == "":
		return all, true
	case strings.Count(list, ",") >= maxAnnotationRanges:
		return append(all, sourceRange{written: list, index: index, hidden: hidden, err: errManyRanges}), true
	}
	for s := range strings.SplitSeq(list, ",") {
		if !r.spend(stepsOf(2, s)) {
			return nil, false
		}
		all = append(all, newSourceRange(s, index, hidden))
	}
	return all, true
}

func newSourceRange(written string, index int, hidden bool) sourceRange {
	s := sourceRange{written: strings.TrimSpace(written), index: index, hidden: hidden}
	s.prefix, s.err = match.ParsePrefix(s.written)
	if s.err == nil && !strings.Contains(s.written, "/") {
		s.err = errNoLength
	}
	return s
}

// hasSourceRanges reports whether the field or an annotation has ranges.
func (s *Service) hasSourceRanges() bool {
	return len(s.LoadBalancerSourceRanges) > 0 || strings.TrimSpace(s.Annotations[sourceRangesAnnotation]) != "" ||
		strings.TrimSpace(s.Annotations[azureRangesAnnotation]) != ""
}

// sourceRangesRequired (loadBalancerSourceRanges.required) finds a Service of type LoadBalancer that has ranges neither
// in spec.loadBalancerSourceRanges nor in the annotations service.beta.kubernetes.io/load-balancer-source-ranges and
// azure-allowed-ip-ranges, so that every client may connect. 0.0.0.0/0 passes: it is an explicit choice.
type sourceRangesRequired struct{}

func (sourceRangesRequired) find(svc *serviceView, r *report) {
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

func (c sourceRangesAllowed) find(svc *serviceView, r *report) {
	ranges := svc.sourceRanges(r)
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

// otherClients (loadBalancerSourceRanges.allowed) finds each annotation of clientAnnotations that has a value.
type otherClients []string

func (c otherClients) find(svc *serviceView, r *report) {
	for _, key := range c {
		value := svc.Annotations[key]
		if !r.spend(stepsOf(1, value)) {
			return
		}
		if strings.TrimSpace(value) == "" {
			continue
		}
		if f := r.tryAdd(annotation{key, value}.identity("loadBalancerSourceRanges.allowed")); f != nil {
			f.Path = annotationPath(key)
			f.Reason = "lets in clients whose address ranges are not known here; remove it, and list ranges in " +
				"spec.loadBalancerSourceRanges"
		}
	}
}
