package policy

import (
	"fmt"
	"net/netip"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
)

// externalIPRules is the externalIPs block: {allowed: [203.0.113.0/24, "2001:db8::/32"]}.
type externalIPRules struct {
	// Allowed lists the address ranges that elements of spec.externalIPs may be in. [] denies all addresses.
	Allowed []match.CIDR `yaml:"allowed,required"`
}

func (b *externalIPRules) checks() []rule.Check[serviceView] {
	passing := rule.Passing(text.Strings(b.Allowed))
	return []rule.Check[serviceView]{externalIPsAllowed{match.NewCIDRSet(b.Allowed), passing}}
}

// externalIPsAllowed is the check externalIPs.allowed. It finds each element of spec.externalIPs that is not in any of
// the ranges. Nodes intercept traffic to such an address, even if it belongs to another host (CVE-2020-8554). An
// IPv4-mapped IPv6 address is evaluated as the IPv4 address that it represents. An address that some parsers do not
// accept (10.0.0.010, an address with a zone) is not in any range.
type externalIPsAllowed struct {
	ranges  match.CIDRSet
	passing string
}

func (c externalIPsAllowed) Find(svc *serviceView, r *rule.Recorder) {
	ips := svc.externalIPs(r)
	for i := range ips {
		a := &ips[i]
		if !r.Spend(1) {
			return
		}
		if a.err == nil && c.ranges.Covers(a.prefix) {
			continue
		}
		if f := r.TryAdd(a.identity("externalIPs.allowed")); f != nil {
			f.Path, f.Reason = fmt.Sprintf("spec.externalIPs[%d]", i), a.reason(c.passing)
		}
	}
}

func (svc *serviceView) externalIPs(r *rule.Recorder) []address {
	if svc.externalAddresses == nil && r.Spend(2*len(svc.ExternalIPs)) {
		svc.externalAddresses = make([]address, len(svc.ExternalIPs))
		for i, s := range svc.ExternalIPs {
			svc.externalAddresses[i] = newAddress(s)
		}
	}
	return svc.externalAddresses
}

// address is an IP address of an object.
type address struct {
	written string
	prefix  netip.Prefix // contains only this address
	err     error        // why it is not an address
}

func newAddress(s string) address {
	addr, err := match.ParseAddr(s)
	return address{s, netip.PrefixFrom(addr, addr.BitLen()), err}
}

// identity returns the identity of a finding about the address. Equal addresses have equal identities.
func (a *address) identity(check string) rule.Identity {
	if a.err != nil {
		return rule.Identity{Check: check, Value: a.written}
	}
	return rule.Identity{Check: check, Prefix: a.prefix}
}

func (a *address) reason(passing string) string {
	if a.err != nil {
		return text.Quote(a.written) + " is not an address: " + match.AddrReason(a.err).Error()
	}
	return text.Quote(a.written) + " is not allowed" + passing
}
