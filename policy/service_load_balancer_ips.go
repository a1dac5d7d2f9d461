package policy

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
)

// loadBalancerIPRules is the loadBalancerIPs block: {allowed: [203.0.113.0/24, "2001:db8::/32"]}.
type loadBalancerIPRules struct {
	// Allowed lists the address ranges that addresses requested for a load balancer may be in. They are in
	// spec.loadBalancerIP and in the annotations of load balancer controllers. [] denies all addresses.
	Allowed []match.CIDR `yaml:"allowed,required"`
}

func (b *loadBalancerIPRules) checks() []rule.Check[serviceView] {
	return []rule.Check[serviceView]{
		loadBalancerIPsAllowed{match.NewCIDRSet(b.Allowed), rule.Passing(text.Strings(b.Allowed))}}
}

// addressAnnotations returns the annotations with which a Service requests addresses, separated by commas.
//   - Azure: cloud-provider-azure at 0314142e325d, pkg/provider/azure_utils.go, getServiceLoadBalancerIPs
//   - Cilium at 023375f62e6d, pkg/annotation/k8s.go. Cilium only reads the second key if the first is absent
//     (operator/pkg/lbipam/lbipam.go, getSVCRequestedIPs).
//   - kube-vip at 073f558a8d22, pkg/instance/instance.go. The address 0.0.0.0 or :: requests an address by DHCP, and
//     requestedIP is the address for the DHCP server. Another text is a host name, whose addresses kube-vip looks up.
//   - MetalLB 0.15.2, controller/service.go, getDesiredLbIPs. The second key is deprecated.
//   - PureLB at 6fd572948c0c, pkg/apis/purelb/v2/annotations.go, DesiredAddressAnnotation
func addressAnnotations() []string {
	return []string{
		"kube-vip.io/loadbalancerIPs", "kube-vip.io/requestedIP",
		"lbipam.cilium.io/ips", "io.cilium/lb-ipam-ips",
		"metallb.io/loadBalancerIPs", "metallb.universe.tf/loadBalancerIPs",
		"purelb.io/addresses",
		"service.beta.kubernetes.io/azure-load-balancer-ipv4", "service.beta.kubernetes.io/azure-load-balancer-ipv6",
	}
}

// loadBalancerIPsAllowed is the check loadBalancerIPs.allowed. It finds each address in spec.loadBalancerIP and in
// addressAnnotations that is not in any of the ranges. Spaces around an address are ignored, and blank elements of a
// list too. A text that some parsers do not accept as an address has a finding. The addresses have no effect unless the
// Service is a LoadBalancer. An address can move between the field and the annotations without a new finding.
type loadBalancerIPsAllowed struct {
	ranges  match.CIDRSet
	passing string
}

func (c loadBalancerIPsAllowed) Find(svc *serviceView, r *rule.Recorder) {
	ips := svc.requestedIPs(r)
	for i := range ips {
		a := &ips[i]
		if !r.Spend(1) {
			return
		}
		if a.err == nil && c.ranges.Covers(a.prefix) {
			continue
		}
		id := a.identity("loadBalancerIPs.allowed")
		id.Idle = svc.effectiveType() != loadBalancer
		if f := r.TryAdd(id); f != nil {
			f.Path, f.Reason = "spec.loadBalancerIP", a.reason(c.passing)
			if a.key != "" {
				f.Path = annotationPath(a.key)
			}
		}
	}
}

// requestedIP is an address that a Service requests.
type requestedIP struct {
	address
	key string // of the annotation; empty for spec.loadBalancerIP
}

// requestedIPs returns the addresses in the field and in the annotations. It returns nil if there are not enough steps
// left.
func (svc *serviceView) requestedIPs(r *rule.Recorder) []requestedIP {
	if svc.requested != nil {
		return svc.requested
	}
	all := []requestedIP{} // not nil, so a Service without addresses is read once
	add := func(key, list string) bool {
		if strings.Count(list, ",") >= maxAnnotationRanges {
			many := fmt.Errorf("it lists more than %d addresses", maxAnnotationRanges)
			all = append(all, requestedIP{address{written: list, err: many}, key})
			return true
		}
		for s := range strings.SplitSeq(list, ",") {
			if !r.Spend(rule.StepsOf(2, s)) {
				return false
			}
			if s = strings.TrimSpace(s); s != "" {
				all = append(all, requestedIP{newAddress(s), key})
			}
		}
		return true
	}
	keys := addressAnnotations()
	if !r.Spend(len(keys)) || !add("", svc.LoadBalancerIP) {
		return nil
	}
	for _, key := range keys {
		if list := svc.Annotations[key]; list != "" && (!r.Spend(rule.StepsOf(1, list)) || !add(key, list)) {
			return nil
		}
	}
	svc.requested = all
	return all
}
