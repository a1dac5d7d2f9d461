package policy

import (
	"fmt"
	"net/netip"
)

// externalIPRules is the field externalIPs: {allowed: [203.0.113.0/24, "2001:db8::/32"]}.
type externalIPRules struct {
	// Allowed lists the address ranges that spec.externalIPs may be taken from. [] denies all.
	Allowed []cidr `yaml:"allowed,required"`
}

func (b *externalIPRules) checks() []check[Service] {
	if b == nil {
		return nil
	}
	return []check[Service]{externalIPsAllowed{newCIDRSet(b.Allowed), passing(cidrStrings(b.Allowed))}}
}

// externalIPsAllowed (externalIPs.allowed) finds each element of spec.externalIPs that lies in none of the ranges.
// Nodes take traffic to such an address for themselves, whomever it belongs to (CVE-2020-8554). An IPv4-mapped IPv6
// address is judged as the IPv4 address that it stands for; what is no address to everybody (10.0.0.010, a zone) passes
// in no range.
type externalIPsAllowed struct {
	ranges  cidrSet
	passing string
}

func (c externalIPsAllowed) find(svc *Service, r *report) {
	for i, text := range svc.ExternalIPs {
		f := Finding{Check: "externalIPs.allowed", Path: fmt.Sprintf("spec.externalIPs[%d]", i)}
		addr, err := parseAddr(text)
		one := netip.PrefixFrom(addr, addr.BitLen())
		switch {
		case err != nil:
			f.Value, f.Reason = text, fmt.Sprintf("%s is not an address: %v", quoted(text), err)
		case c.ranges.covers(one):
			continue
		default:
			f.Range, f.Reason = one, quoted(text)+" is not allowed"+c.passing
		}
		r.add(f)
	}
}
