package match

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// CIDR is an address range in a policy file, such as 203.0.113.0/24 or 2001:db8::/32. A single address is a range too.
type CIDR struct{ netip.Prefix }

// UnmarshalText parses an address range. It returns an error if the address is not the first address of the range,
// because 10.0.0.5/8 may be a mistake for either 10.0.0.0/8 or 10.0.0.5.
func (c *CIDR) UnmarshalText(b []byte) error {
	s := string(b)
	written, err := ParsePrefix(s)
	if err != nil {
		err = AddrReason(err)
		return fmt.Errorf("%s is not an address range: %w; write one such as 203.0.113.0/24 or 2001:db8::/32",
			text.Quote(s), err)
	}
	if p := written.Masked(); p != written {
		return fmt.Errorf("%s has bits set beyond its length: write %s for the range or %s for the one address",
			text.Quote(s), p, written.Addr())
	}
	*c = CIDR{written}
	return nil
}

// ParsePrefix parses an address range. A single address becomes a range with one address. IPv4-mapped IPv6 addresses
// become IPv4 addresses, so ::ffff:10.0.0.0/104 is 10.0.0.0/8. Bits beyond the length are kept. Use AddrReason to show
// the error to users.
func ParsePrefix(s string) (netip.Prefix, error) {
	if len(s) > maxAddr {
		return netip.Prefix{}, errLongAddr
	}
	if !strings.Contains(s, "/") {
		a, err := ParseAddr(s)
		return netip.PrefixFrom(a, a.BitLen()), err
	}
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return netip.Prefix{}, err
	case p.Addr().Is4In6() && p.Bits() >= mappedBits:
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mappedBits), nil
	}
	return p, nil
}

// mappedBits is the length of ::ffff:0:0/96, the range of the IPv4-mapped addresses.
const mappedBits = 96

// ParseAddr parses an address. It accepts only the spelling that all software agrees on: some parsers read a leading
// zero as decimal and others as octal, and a zone has a meaning on one machine only. IPv4-mapped IPv6 addresses become
// IPv4 addresses. Use AddrReason to show the error to users.
func ParseAddr(s string) (netip.Addr, error) {
	if len(s) > maxAddr {
		return netip.Addr{}, errLongAddr
	}
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return netip.Addr{}, err
	case a.Zone() != "":
		return netip.Addr{}, errZone
	}
	return a.Unmap(), nil
}

// maxAddr is the maximum length of an address or range in bytes. The longest valid text without a zone takes 49 bytes:
// an IPv6 address that ends with an IPv4 address, and a prefix length.
const maxAddr = 64

var (
	errLongAddr = fmt.Errorf("no address has more than %d characters", maxAddr)
	errZone     = errors.New("an address with a zone means something on one machine only")
)

// AddrReason returns only the reason from an error of ParseAddr or ParsePrefix. Errors of package netip also repeat the
// input, which a tenant chose: ParseAddr("10.0.0"): IPv4 address too short.
func AddrReason(err error) error {
	_, reason, found := strings.Cut(err.Error(), `"): `)
	if !found {
		return err
	}
	if _, inner, nested := strings.Cut(reason, `"): `); nested {
		reason = inner
	}
	return errors.New(reason)
}

// CIDRSet is the union of address ranges. It consists of sorted intervals of addresses that do not overlap or touch
// each other. A range inside the union is therefore inside one interval, and a look-up is a binary search.
type CIDRSet []interval

// interval is a run of addresses of one family. It includes both first and last.
type interval struct{ first, last netip.Addr }

// NewCIDRSet returns the union of ranges.
func NewCIDRSet(ranges []CIDR) CIDRSet {
	all := make(CIDRSet, len(ranges))
	for i, r := range ranges {
		all[i] = intervalOf(r.Prefix)
	}
	slices.SortFunc(all, func(a, b interval) int { return a.first.Compare(b.first) })
	var s CIDRSet
	for _, next := range all {
		if end := len(s) - 1; end >= 0 && s[end].touches(next) {
			if s[end].last.Less(next.last) {
				s[end].last = next.last
			}
			continue
		}
		s = append(s, next)
	}
	return s
}

// intervalOf returns the addresses of p. It ignores the bits beyond the length of p.
func intervalOf(p netip.Prefix) interval {
	p = p.Masked()
	last := p.Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(last); bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	end, _ := netip.AddrFromSlice(last)
	return interval{p.Addr(), end}
}

// touches reports whether next overlaps v or follows it without a gap. next must not begin before v.
func (v interval) touches(next interval) bool {
	if v.last.BitLen() != next.first.BitLen() {
		return false
	}
	return !v.last.Less(next.first) || v.last.Next() == next.first
}

// Covers reports whether every address of p is in the set. It ignores the bits beyond the length of p.
func (s CIDRSet) Covers(p netip.Prefix) bool {
	v := intervalOf(p)
	i, found := slices.BinarySearchFunc(s, v.first, func(e interval, a netip.Addr) int { return e.first.Compare(a) })
	if !found {
		i--
	}
	return i >= 0 && s[i].last.BitLen() == v.last.BitLen() && !s[i].last.Less(v.last)
}

// ParseLooseIPv4 parses an IPv4 address like inet_aton(3) and most resolvers. The text has one to four numbers, which
// are decimal, octal (010) or hexadecimal (0x8). The last number fills all remaining bytes, so 127.1, 0x7f.1,
// 017700000001 and 2130706433 are the same address.
func ParseLooseIPv4(s string) (netip.Addr, bool) {
	const most = 4
	parts := strings.SplitN(s, ".", most+1)
	if len(parts) > most {
		return netip.Addr{}, false
	}
	var v uint64
	for i, part := range parts {
		n, ok := parseLooseNumber(part)
		limit, width := uint64(math.MaxUint8), 8
		if last := i == len(parts)-1; last {
			width = 8 * (4 - i)
			limit = 1<<width - 1
		}
		if !ok || n > limit {
			return netip.Addr{}, false
		}
		v = v<<width | n
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

// parseLooseNumber parses a number like C. Go's base 0 would also accept 0b1, 0o7 and 1_0, which are not valid in C.
func parseLooseNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	digits := strings.TrimLeft(s, "0")
	if digits == "" && s != "" {
		return 0, true
	}
	const most = 11 // octal digits in 32 bits; the error of ParseUint would copy a longer number
	if len(digits) > most {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, base, 32)
	return n, err == nil
}

// EndsInNumber reports whether the last label of a name is a decimal or hexadecimal number.
func EndsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, found := strings.CutPrefix(last, "0x"); found {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
