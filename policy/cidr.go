package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// cidr is a range of addresses in a policy file: 203.0.113.0/24, 2001:db8::/32, or one address alone.
type cidr struct{ netip.Prefix }

// UnmarshalText refuses a range whose address lies inside it rather than at its beginning: 10.0.0.5/8 is a slip for
// either 10.0.0.0/8 or 10.0.0.5.
func (c *cidr) UnmarshalText(text []byte) error {
	s := string(text)
	written, err := parseRange(s)
	if err != nil {
		return fmt.Errorf("%q is not an address range: %w; write one such as 203.0.113.0/24 or 2001:db8::/32", s, err)
	}
	if p := written.Masked(); p != written {
		return fmt.Errorf("%q has bits set beyond its length: write %s for the range or %s for the one address",
			s, p, written.Addr())
	}
	*c = cidr{written}
	return nil
}

// parseRange reads an address range, or an address as the range of one. IPv4-mapped IPv6 addresses become the IPv4
// addresses that they stand for: ::ffff:10.0.0.0/104 is 10.0.0.0/8. Bits beyond the length are kept.
func parseRange(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		a, err := parseAddr(s)
		return netip.PrefixFrom(a, a.BitLen()), err
	}
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return netip.Prefix{}, plainReason(err)
	case p.Addr().Is4In6() && p.Bits() >= mappedBits:
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mappedBits), nil
	}
	return p, nil
}

// mappedBits is the length of ::ffff:0:0/96, the range of the IPv4-mapped addresses.
const mappedBits = 96

// parseAddr reads an address in the one spelling that all software agrees on: a leading zero means decimal to some and
// octal to others, and a zone means something only on one machine.
func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return netip.Addr{}, plainReason(err)
	case a.Zone() != "":
		return netip.Addr{}, errors.New("an address with a zone means something on one machine only")
	}
	return a.Unmap(), nil
}

// plainReason takes the reason out of an error of package netip, whose own text repeats the input:
// ParseAddr("10.0.0"): IPv4 address too short.
func plainReason(err error) error {
	_, reason, found := strings.Cut(err.Error(), `"): `)
	if !found {
		return err
	}
	if _, inner, nested := strings.Cut(reason, `"): `); nested {
		reason = inner
	}
	return errors.New(reason)
}

// cidrSet is what several ranges cover together. Neighbours are merged: whatever lies inside the union of the ranges
// lies inside one element, so that a lookup takes as many steps as an address has bits, however long the list is.
type cidrSet map[netip.Prefix]struct{}

func newCIDRSet(ranges []cidr) cidrSet {
	s := make(cidrSet, len(ranges))
	for _, r := range ranges {
		s.add(r.Prefix)
	}
	return s
}

// add puts p into the set, and, when its other half is there, the range that both make up.
func (s cidrSet) add(p netip.Prefix) {
	for !s.covers(p) {
		s[p] = struct{}{}
		if p.Bits() == 0 {
			return
		}
		if _, whole := s[otherHalf(p)]; !whole {
			return
		}
		p = netip.PrefixFrom(p.Addr(), p.Bits()-1).Masked()
	}
}

// covers says whether every address of p, whose bits beyond its length are ignored, lies inside the set.
func (s cidrSet) covers(p netip.Prefix) bool {
	for bits := p.Bits(); bits >= 0; bits-- {
		if _, ok := s[netip.PrefixFrom(p.Addr(), bits).Masked()]; ok {
			return true
		}
	}
	return false
}

// otherHalf returns the range that, with p, makes up the range that is one bit shorter.
func otherHalf(p netip.Prefix) netip.Prefix {
	b := p.Addr().AsSlice()
	last := p.Bits() - 1
	b[last/8] ^= 1 << (7 - last%8)
	a, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(a, p.Bits())
}

// cidrStrings returns the ranges as they are written, for sentences.
func cidrStrings(ranges []cidr) []string {
	s := make([]string, len(ranges))
	for i, r := range ranges {
		s[i] = r.String()
	}
	return s
}
