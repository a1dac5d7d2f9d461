package policy

import (
	"fmt"
	"net/netip"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// externalIPRules is the field externalIPs: {allowed: [203.0.113.0/24, "2001:db8::/32"]}.
type externalIPRules struct {
	// Allowed lists the address ranges that spec.externalIPs may be taken from. [] denies all.
	Allowed []match.CIDR `yaml:"allowed,required"`
}

func (b *externalIPRules) checks() []check[Service] {
	if b == nil {
		return nil
	}
	return []check[Service]{externalIPsAllowed{match.NewCIDRSet(b.Allowed), passing(stringsOf(b.Allowed))}}
}

// externalIPsAllowed (externalIPs.allowed) finds each element of spec.externalIPs that lies in none of the ranges.
// Nodes take traffic to such an address for themselves, whomever it belongs to (CVE-2020-8554). An IPv4-mapped IPv6
// address is judged as the IPv4 address that it stands for; what is no address to everybody (10.0.0.010, a zone) passes
// in no range.
type externalIPsAllowed struct {
	ranges  match.CIDRSet
	passing string
}

func (c externalIPsAllowed) find(svc *Service, r *report) {
	ips := r.externalIPs(svc)
	for i := range ips {
		a := &ips[i]
		if !r.spend(1) {
			return
		}
		if a.err == nil && c.ranges.Covers(a.one) {
			continue
		}
		if f := r.found(a.identity("externalIPs.allowed")); f != nil {
			f.Path, f.Reason = fmt.Sprintf("spec.externalIPs[%d]", i), a.reason(c.passing)
		}
	}
}

// externalIPs returns the elements of spec.externalIPs, parsed once for all rules.
func (r *report) externalIPs(svc *Service) []address {
	if r.addresses == nil && r.spend(2*len(svc.ExternalIPs)) {
		r.addresses = make([]address, len(svc.ExternalIPs))
		for i, s := range svc.ExternalIPs {
			r.addresses[i] = newAddress(s)
		}
	}
	return r.addresses
}

// address is an IP address of an object, as the range of one.
type address struct {
	written string
	one     netip.Prefix
	err     error // why it is none
}

func newAddress(s string) address {
	addr, err := match.ParseAddr(s)
	return address{s, netip.PrefixFrom(addr, addr.BitLen()), err}
}

// identity is that of a finding about an address.
func (a *address) identity(check string) identity {
	if a.err != nil {
		return identity{check: check, value: a.written}
	}
	return identity{check: check, prefix: a.one}
}

// reason says that an address is not allowed, or none.
func (a *address) reason(passing string) string {
	if a.err != nil {
		return text.Quote(a.written) + " is not an address: " + match.AddrReason(a.err).Error()
	}
	return text.Quote(a.written) + " is not allowed" + passing
}
