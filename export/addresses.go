package export

import (
	"net/netip"
	"slices"
	"strings"
)

// normalAddress returns an IP address in its one spelling, an IPv4-mapped one as the IPv4 address that it stands for;
// empty for other texts.
func normalAddress(value string) string {
	return bind("i", value, choose("isIP(i)", "string(ip(i))", unmapped("i")))
}

// normalRange returns an address range in its one spelling, without the bits beyond its length; empty for other texts.
// cidr() refuses IPv4-mapped addresses: see unmapped. One of less than 96 bits is the same with another last bit of the
// group ffff.
func normalRange(value string) string {
	const length = `^(?:0|[1-9][0-9]?|1[01][0-9]|12[0-8])$`
	mapped := choose("u==''", "''", choose("int(s[1])>=96", "string(cidr(u+'/'+string(int(s[1])-96)).masked())",
		"string(cidr(s[0].lowerAscii().replace('ffff','fffe',1)+'/'+s[1]).masked())"))
	other := bind("s", "i.split('/')", choose("size(s)==2&&s[1].matches("+str(length)+")",
		bind("u", unmapped("s[0]"), mapped), "''"))
	return bind("i", value, choose("isCIDR(i)", "string(cidr(i).masked())", other))
}

// inCIDRs returns whether a range is inside the union of some ranges.
func inCIDRs(value string, ranges []string) string {
	if len(ranges) == 0 {
		return "false"
	}
	var list []string
	for _, p := range maximalRanges(ranges) {
		list = append(list, "cidr("+str(p)+")")
	}
	return "[" + strings.Join(list, ",") + "].exists(c,c.containsCIDR(" + value + "))"
}

// maximalRanges returns the same addresses as few ranges, none of which has its sibling beside it. A range that is
// inside the union of all is so inside one of them.
func maximalRanges(ranges []string) []string {
	all := map[netip.Prefix]bool{}
	for _, r := range ranges {
		if p, err := netip.ParsePrefix(r); err == nil {
			all[p] = true
		}
	}
	for bits := 128; bits > 0; bits-- {
		for p := range all {
			if p.Bits() != bits {
				continue
			}
			parent := netip.PrefixFrom(p.Addr(), bits-1).Masked()
			if all[sibling(p)] {
				all[parent] = true
			}
		}
	}
	var kept []string
	for p := range all {
		if !coveredByWider(p, all) {
			kept = append(kept, p.String())
		}
	}
	slices.Sort(kept)
	return kept
}

// sibling returns the other half of the range one bit wider.
func sibling(p netip.Prefix) netip.Prefix {
	b := p.Addr().AsSlice()
	bit := p.Bits() - 1
	b[bit/8] ^= 1 << (7 - bit%8)
	addr, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(addr, p.Bits())
}

// coveredByWider reports whether a range is inside a wider one.
func coveredByWider(p netip.Prefix, all map[netip.Prefix]bool) bool {
	for bits := range p.Bits() {
		if all[netip.PrefixFrom(p.Addr(), bits).Masked()] {
			return true
		}
	}
	return false
}
