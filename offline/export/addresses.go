package export

import (
	"net/netip"
	"slices"
	"strings"
)

// normalAddress returns an expression for the canonical form of an IP address. For an IPv4-mapped address this is the
// IPv4 address. For other strings it is empty.
func normalAddress(text string) string {
	return cel("[$text].map(address,isIP(address)?string(ip(address)):$unmapped)[0]", "$text", text,
		"$unmapped", unmapped("address"))
}

// normalRange returns an expression for the canonical form of an address range, without host bits. For other strings
// it is empty. cidr() rejects IPv4-mapped addresses: see unmapped. A range of less than 96 bits is the same range if
// the group ffff has another last bit.
func normalRange(text string) string {
	return cel(`[$text].map(range,isCIDR(range)?string(cidr(range).masked()):[range.split('/')].map(parts,
		size(parts)==2&&parts[1].matches('^(?:0|[1-9][0-9]?|1[01][0-9]|12[0-8])$')?[$unmapped].map(address,
			address==''?'':int(parts[1])>=96?string(cidr(address+'/'+string(int(parts[1])-96)).masked())
				:string(cidr(parts[0].lowerAscii().replace('ffff','fffe',1)+'/'+parts[1]).masked()))[0]:'')[0])[0]`,
		"$text", text, "$unmapped", unmapped("parts[0]"))
}

// unmapped returns an expression for the IPv4 address of an IPv4-mapped IPv6 address. For other texts it is empty.
// ip() rejects such addresses, so they are parsed with another group instead of ffff. The last two groups have up to
// four hexadecimal digits.
func unmapped(address string) string {
	const number = `[('000'+group).substring(size(group)-1).split('')].map(digits,
		digits.transformList(n,digit,'0123456789abcdef'.indexOf(digit)*[4096,256,16,1][n]).sum())[0]`
	return cel(`[$address.lowerAscii().replace('ffff','fffe',1)].map(other,!isIP(other)?'':[string(ip(other))].map(text,
		!text.matches('^::fffe:[0-9a-f]+:[0-9a-f]+$')?'':text.substring(7).split(':').map(group,[$number].map(number,
			string(number/256)+'.'+string(number%256))[0]).join('.'))[0])[0]`,
		"$address", address, "$number", cel(number))
}

// asRange returns an expression for the range of an address in its canonical form.
func asRange(address string) string { return address + "+(" + address + ".contains(':')?'/128':'/32')" }

// inCIDRs returns a condition that a range is in the union of ranges.
func inCIDRs(value string, ranges []string) string {
	var list []string
	for _, p := range maximalRanges(ranges) {
		list = append(list, "cidr("+str(p)+")")
	}
	if len(list) == 0 {
		return "false"
	}
	return "[" + strings.Join(list, ",") + "].exists(allowed,allowed.containsCIDR(" + value + "))"
}

// maximalRanges returns the same addresses with as few ranges as possible: no two of them can be merged. A range that
// is in the union of all ranges is therefore also in a single range.
func maximalRanges(ranges []string) []string {
	all := map[netip.Prefix]bool{}
	for _, r := range ranges {
		if p, err := netip.ParsePrefix(r); err == nil {
			all[p] = true
		}
	}
	for bits := 128; bits > 0; bits-- {
		for p := range all {
			if p.Bits() == bits && all[sibling(p)] {
				all[wider(p, bits-1)] = true
			}
		}
	}
	var kept []string
	for p := range all {
		covered := false
		for bits := range p.Bits() {
			covered = covered || all[wider(p, bits)]
		}
		if !covered {
			kept = append(kept, p.String())
		}
	}
	slices.Sort(kept)
	return kept
}

// wider returns the range of a number of bits that contains a range.
func wider(p netip.Prefix, bits int) netip.Prefix { return netip.PrefixFrom(p.Addr(), bits).Masked() }

// sibling returns the other half of the range that is one bit wider.
func sibling(p netip.Prefix) netip.Prefix {
	b := p.Addr().AsSlice()
	bit := p.Bits() - 1
	b[bit/8] ^= 1 << (7 - bit%8)
	addr, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(addr, p.Bits())
}
