package export

import "strings"

// normalAddress returns an expression for the canonical form of an IP address. For an IPv4-mapped address this is the
// IPv4 address. For other strings it is empty.
func normalAddress(text string) string {
	return cel("[$text].map(address,isIP(address)?string(ip(address)):$unmapped)[0]", "$text", text,
		"$unmapped", unmapped("address"))
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

// inCIDRs returns a condition that an address is in one of some ranges.
func inCIDRs(address string, ranges []string) string {
	var list []string
	for _, r := range ranges {
		list = append(list, "cidr("+str(r)+")")
	}
	return "[" + strings.Join(list, ",") + "].exists(allowed,allowed.containsIP(" + address + "))"
}
