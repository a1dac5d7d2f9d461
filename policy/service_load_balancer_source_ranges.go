package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
)

// sourceRangesAnnotation is the older form of spec.loadBalancerSourceRanges. Cloud providers read it if the field is
// empty.
const sourceRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges"

// azureRangesAnnotation lists ranges that Azure adds to the ranges in the field.
const azureRangesAnnotation = "service.beta.kubernetes.io/azure-allowed-ip-ranges"

// ClientAnnotation is an annotation of a Service that makes a load balancer accept clients outside the ranges of the
// Service.
type ClientAnnotation struct {
	Key   string
	Value string // that has this effect, in lower case; empty: every value that is not blank
}

// ClientAnnotations returns the annotations that make a load balancer accept clients outside the ranges of the Service.
// Some refer to tags, security groups, prefix lists, firewall rules or access lists of a cloud, and Evergate does not
// know their ranges. With others, the controller does not change the rules of the load balancer, or reads the ranges as
// a list of denied clients. kubernetes.civo.com/firewall-id is not one of them, because Civo's controller writes it to
// every Service and ignores spec.loadBalancerSourceRanges.
func ClientAnnotations() []ClientAnnotation {
	const prefix = "service.beta.kubernetes.io/"
	return []ClientAnnotation{
		{Key: "kubernetes.io/elb.acl-id"}, // Huawei Cloud, Open Telekom Cloud
		{Key: "oci.oraclecloud.com/oci-network-security-groups"},
		{Key: "oci.oraclecloud.com/security-rule-management-mode", Value: "none"},
		{Key: prefix + "alibaba-cloud-loadbalancer-acl-id"},
		{Key: prefix + "alibaba-cloud-loadbalancer-security-group-ids"},
		{Key: prefix + "alicloud-loadbalancer-acl-id"},
		// A load balancer without a security group passes on clients without their addresses to targets of type ip
		// (aws-load-balancer-controller, docs/guide/service/annotations.md, load-balancer-source-ranges).
		{Key: prefix + "aws-load-balancer-disable-nlb-sg"},
		{Key: prefix + "aws-load-balancer-extra-security-groups"},
		{Key: prefix + "aws-load-balancer-inbound-sg-rules-on-private-link-traffic", Value: "off"},
		{Key: prefix + "aws-load-balancer-security-group-prefix-lists"},
		{Key: prefix + "aws-load-balancer-security-groups"},
		{Key: prefix + "azure-allowed-service-tags"},
		{Key: prefix + "do-loadbalancer-allow-rules"},
		{Key: prefix + "linode-loadbalancer-firewall-acl"},
		{Key: prefix + "linode-loadbalancer-firewall-id"},
		{Key: prefix + "oci-load-balancer-security-list-management-mode", Value: "none"},
		// outscale/cloud-provider-osc, docs/annotations.md.
		{Key: prefix + "osc-load-balancer-extra-security-groups"},
		{Key: prefix + "osc-load-balancer-security-group"},
		{Key: prefix + "ovh-loadbalancer-allowed-sources"}, // OVHcloud, deprecated: a list of ranges
		{Key: prefix + "volcengine-loadbalancer-acl-id"},
		{Key: prefix + "vultr-loadbalancer-firewall-rules"},
		{Key: "service.cilium.io/src-ranges-policy", Value: "deny"},
		{Key: "service.cloud.tencent.com/pass-to-target", Value: "true"},
		{Key: "service.cloud.tencent.com/security-groups"},
		// IBM Cloud never removes a rule of this security group.
		{Key: "service.kubernetes.io/ibm-load-balancer-cloud-provider-vpc-security-group"},
	}
}

// sourceRangeRules is the loadBalancerSourceRanges block: {required: true, allowed: [10.0.0.0/8]}.
type sourceRangeRules struct {
	// Required: true means that a LoadBalancer must have source ranges, however wide: see allowed.
	Required bool `yaml:"required"`
	// Allowed lists ranges that must cover the ranges of a Service. Adjacent ranges in the list can cover a range
	// together. A Service without ranges passes. [] denies all ranges. Annotations that make a cloud accept other
	// clients, such as security groups and service tags, do not pass.
	Allowed []match.CIDR `yaml:"allowed"`
}

func (b *sourceRangeRules) Validate() error {
	return rejectNothingPasses(b.Required, b.Allowed, "a range")
}

func (b *sourceRangeRules) checks() []rule.Check[serviceView] {
	return rule.Checks(
		rule.When(b.Required, sourceRangesRequired{}),
		rule.When(b.Allowed != nil,
			sourceRangesAllowed{match.NewCIDRSet(b.Allowed), rule.Passing(text.Strings(b.Allowed))}),
		rule.When(b.Allowed != nil, otherClients(ClientAnnotations())),
	)
}

// sourceRange is a range of a Service, with its text and its position.
type sourceRange struct {
	written string
	index   int  // in the field; inAnnotation or inAzureAnnotation for ranges of an annotation
	hidden  bool // a range that has no effect: without a load balancer, or in the annotation while the field is set too
	prefix  netip.Prefix
	err     error // why it is not a range
}

// The indexes of ranges from annotations.
const (
	inAnnotation      = -1
	inAzureAnnotation = -2
)

func (s *sourceRange) path() string {
	switch s.index {
	case inAnnotation:
		return annotationPath(sourceRangesAnnotation)
	case inAzureAnnotation:
		return annotationPath(azureRangesAnnotation)
	}
	return "spec.loadBalancerSourceRanges[" + strconv.Itoa(s.index) + "]"
}

// maxAnnotationRanges is the largest number of ranges that are evaluated in an annotation. Load balancers of the large
// clouds do not accept more. An annotation with more ranges has one finding as a whole.
const maxAnnotationRanges = 5000

// errNoLength is the error for an address in place of a range.
var errNoLength = errors.New("no length such as /24")

// errManyRanges is the error for an annotation that lists too many ranges.
var errManyRanges = fmt.Errorf("it lists more than %d ranges", maxAnnotationRanges)

// sourceRanges returns the ranges of a Service from the field, from the annotation, and from the Azure annotation. It
// includes the ranges of the annotation even if the field is set and the cloud provider ignores the annotation, because
// they would become active if the field was removed. Spaces around a range are ignored. sourceRanges returns nil if
// there are not enough steps left.
func (svc *serviceView) sourceRanges(r *rule.Recorder) []sourceRange {
	if svc.ranges != nil {
		return svc.ranges
	}
	list := strings.TrimSpace(svc.Annotations[sourceRangesAnnotation])
	azure := strings.TrimSpace(svc.Annotations[azureRangesAnnotation])
	if !r.Spend(rule.StepsOf(1, list) + rule.StepsOf(1, azure)) {
		return nil
	}
	all := make([]sourceRange, 0, len(svc.LoadBalancerSourceRanges)+rangesIn(list)+rangesIn(azure))
	unused := svc.effectiveType() != loadBalancer
	for i, s := range svc.LoadBalancerSourceRanges {
		if !r.Spend(rule.StepsOf(2, s)) {
			return nil
		}
		all = append(all, newSourceRange(s, i, unused))
	}
	all, ok := annotationRanges(all, list, inAnnotation, unused || len(all) > 0, r)
	if ok {
		all, ok = annotationRanges(all, azure, inAzureAnnotation, unused, r)
	}
	if !ok {
		return nil
	}
	svc.ranges = all
	return all
}

// rangesIn returns the number of elements that annotationRanges appends for an annotation.
func rangesIn(list string) int {
	n := 1 + strings.Count(list, ",")
	if list == "" || n > maxAnnotationRanges {
		return min(len(list), 1)
	}
	return n
}

// annotationRanges appends the ranges of an annotation. ok is false if there are not enough steps left.
func annotationRanges(
	all []sourceRange, list string, index int, hidden bool, r *rule.Recorder,
) (_ []sourceRange, ok bool) {
	switch {
	case list == "":
		return all, true
	case strings.Count(list, ",") >= maxAnnotationRanges:
		return append(all, sourceRange{written: list, index: index, hidden: hidden, err: errManyRanges}), true
	}
	for s := range strings.SplitSeq(list, ",") {
		if !r.Spend(rule.StepsOf(2, s)) {
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

// hasSourceRanges reports whether the field or its older annotation has ranges. The Azure annotation does not count,
// because other clouds ignore it and accept every client.
func (svc *serviceView) hasSourceRanges() bool {
	return len(svc.LoadBalancerSourceRanges) > 0 || strings.TrimSpace(svc.Annotations[sourceRangesAnnotation]) != ""
}

// sourceRangesRequired is the check loadBalancerSourceRanges.required. It finds a Service of type LoadBalancer that
// accepts every client because it has no ranges in spec.loadBalancerSourceRanges or in the annotation
// service.beta.kubernetes.io/load-balancer-source-ranges. 0.0.0.0/0 passes, because it is an explicit choice.
type sourceRangesRequired struct{}

func (sourceRangesRequired) Find(svc *serviceView, r *rule.Recorder) {
	if svc.effectiveType() != loadBalancer || svc.hasSourceRanges() {
		return
	}
	r.Add(rule.Identity{Check: "loadBalancerSourceRanges.required"}, "spec.loadBalancerSourceRanges",
		"is required for a LoadBalancer; list the address ranges that may call it")
}

// sourceRangesAllowed is the check loadBalancerSourceRanges.allowed. It finds each range that the allowed ranges do not
// cover completely, in spec.loadBalancerSourceRanges and in the annotations for ranges. If a range of the old object
// has a finding, narrower ranges inside it are pre-existing too, unless the old range had no effect. A range that some
// parsers do not accept (10.0.0.010/8, a range with a zone) has a finding.
type sourceRangesAllowed struct {
	ranges  match.CIDRSet
	passing string
}

func (c sourceRangesAllowed) Find(svc *serviceView, r *rule.Recorder) {
	ranges := svc.sourceRanges(r)
	for i := range ranges {
		s := &ranges[i]
		if !r.Spend(1) {
			return
		}
		id := rule.Identity{Check: "loadBalancerSourceRanges.allowed", Idle: s.hidden}
		switch {
		case s.err != nil:
			id.Value = s.written
		case c.ranges.Covers(s.prefix):
			continue
		default:
			id.Prefix = s.prefix.Masked()
		}
		if f := r.TryAdd(id); f != nil {
			f.Path, f.Reason = s.path(), text.Quote(s.written)+" is not allowed"+c.passing
			if s.err != nil {
				f.Reason = text.Quote(s.written) + " is not an address range: " + match.AddrReason(s.err).Error()
			}
		}
	}
}

// otherClients is the check loadBalancerSourceRanges.allowed for ClientAnnotations. It finds each of these annotations
// whose value accepts other clients. The annotations have no effect unless the Service is a LoadBalancer.
type otherClients []ClientAnnotation

func (c otherClients) Find(svc *serviceView, r *rule.Recorder) {
	for i := range c {
		key, value := c[i].Key, svc.Annotations[c[i].Key]
		if !r.Spend(rule.StepsOf(1, value)) {
			return
		}
		if v := strings.TrimSpace(value); v == "" || c[i].Value != "" && !strings.EqualFold(v, c[i].Value) {
			continue
		}
		id := annotation{key: key, value: value}.identity("loadBalancerSourceRanges.allowed")
		id.Idle = svc.effectiveType() != loadBalancer
		if f := r.TryAdd(id); f != nil {
			f.Path = annotationPath(key)
			f.Reason = "lets in clients whose address ranges are not known here; remove it, and list ranges in " +
				"spec.loadBalancerSourceRanges"
		}
	}
}
