package policy

import (
	"fmt"
	"net/netip"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// externalIPRules is the field externalIPs: {allowed: [203.0.113.0/24, "2001:db8::/32"]}.
type externalIPRules struct {
	// Allowed lists the address ranges that elements of spec.externalIPs may be in. [] denies all.
	Allowed []match.CIDR `yaml:"allowed,required"`
}

func (b *externalIPRules) checks() []check[serviceView] {
	if b == nil {
		return nil
	}
	return []check[serviceView]{externalIPsAllowed{match.NewCIDRSet(b.Allowed), passing(stringsOf(b.Allowed))}}
}

// externalIPsAllowed (externalIPs.allowed) finds each element of spec.externalIPs that is in none of the ranges. Nodes
// intercept traffic to such an address, whatever host it belongs to (CVE-2020-8554). An IPv4-mapped IPv6 address is
// judged as the IPv4 address that it stands for; an address that not all parsers accept (10.0.0.010, a zone) is in no
// range.
type externalIPsAllowed struct {
	ranges  match.CIDRSet
	passing string
}

func (c externalIPsAllowed) find(svc *serviceView, r *report) {
	ips := svc.externalIPs(r)
	for i := range ips {
		a := &ips[i]
		if !r.spend(1) {
			return
		}
		if a.err == nil && c.ranges.Covers(a.prefix) {
			continue
		}
		if f := r.tryAdd(a.identity("externalIPs.allowed")); f != nil {
			f.Path, f.Reason = fmt.Sprintf("spec.externalIPs[%d]", i), a.reason(c.passing)
		}
	}
}

// externalIPs returns the elements of spec.externalIPs.
func (svc *serviceView) externalIPs(r *report) []address {
	if svc.externalAddresses == nil && r.spend(2*len(svc.ExternalIPs)) {
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
	prefix  netip.Prefix // of this address alone
	err     error        // why it is not an address
}

func newAddress(s string) address {
	addr, err := match.ParseAddr(s)
	return address{s, netip.PrefixFrom(addr, addr.BitLen()), err}
}

// identity returns the identity of a finding about the address.
func (a *address) identity(check string) identity {
	if a.err != nil {
		return identity{check: check, value: a.written}
	}
	return identity{check: check, prefix: a.prefix}
}

// reason returns the sentence about an address that does not pass.
func (a *address) reason(passing string) string {
	if a.err != nil {
		return text.Quote(a.written) + " is not an address: " + match.AddrReason(a.err).Error()
	}
	return text.Quote(a.written) + " is not allowed" + passing
}
