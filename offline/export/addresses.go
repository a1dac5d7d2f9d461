package export

import (
	"net/netip"
	"slices"
	"strings"
)

// normalAddress returns an expression for the canonical form of an IP address. For an IPv4-mapped address this is the
// IPv4 address. For other strings it is empty.
func normalAddress(value string) string {
	return bind("i", value, choose("isIP(i)", "string(ip(i))", unmapped("i")))
}

// normalRange returns an expression for the canonical form of an address range, without host bits. For other strings
// it is empty. cidr() rejects IPv4-mapped addresses: see unmapped. A range of less than 96 bits is the same range if
// the group ffff has another last bit.
func normalRange(value string) string {
	const length = `^(?:0|[1-9][0-9]?|1[01][0-9]|12[0-8])$`
	mapped := choose("u==''", "''", choose("int(s[1])>=96", "string(cidr(u+'/'+string(int(s[1])-96)).masked())",
		"string(cidr(s[0].lowerAscii().replace('ffff','fffe',1)+'/'+s[1]).masked())"))
	other := bind("s", "i.split('/')", choose("size(s)==2&&s[1].matches("+str(length)+")",
		bind("u", unmapped("s[0]"), mapped), "''"))
	return bind("i", value, choose("isCIDR(i)", "string(cidr(i).masked())", other))
}

// inCIDRs returns a condition that a range is in the union of ranges.
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

// sibling returns the other half of the range that is one bit wider.
func sibling(p netip.Prefix) netip.Prefix {
	b := p.Addr().AsSlice()
	bit := p.Bits() - 1
	b[bit/8] ^= 1 << (7 - bit%8)
	addr, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(addr, p.Bits())
}

// coveredByWider reports whether a range is in a wider range.
func coveredByWider(p netip.Prefix, all map[netip.Prefix]bool) bool {
	for bits := range p.Bits() {
		if all[netip.PrefixFrom(p.Addr(), bits).Masked()] {
			return true
		}
	}
	return false
}

// unmapped returns an expression for the IPv4 address of an IPv4-mapped IPv6 address. For other texts it is empty.
// ip() rejects such addresses, so they are parsed with another group instead of ffff.
func unmapped(address string) string {
	dotted := bind("q", "t.substring(7).split(':').map(x,"+digits("x", "16")+")",
		"string(q[0]/256)+'.'+string(q[0]%256)+'.'+string(q[1]/256)+'.'+string(q[1]%256)")
	return bind("m", address+".lowerAscii().replace('ffff','fffe',1)", choose("isIP(m)",
		bind("t", "string(ip(m))", choose("t.matches('^::fffe:[0-9a-f]+:[0-9a-f]+$')", dotted, "''")), "''"))
}

func digits(text, base string) string {
	powers := "[1,16,256,4096,65536,1048576,16777216,268435456]"
	return bind("c", text+".find('[1-9a-f][0-9a-f]*$').split('')",
		"lists.range(size(c)).map(k,{'0':0,'1':1,'2':2,'3':3,'4':4,'5':5,'6':6,'7':7,'8':8,'9':9,"+
			"'a':10,'b':11,'c':12,'d':13,'e':14,'f':15}[c[k]]*"+powers+"[size(c)-1-k]).sum()")
}
