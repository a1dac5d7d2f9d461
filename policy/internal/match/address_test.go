package match

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

// The set covers a range if and only if its ranges contain each address of the range.
func TestCIDRSetIsTheUnion(t *testing.T) {
	const seed = 1 // any fixed seed, so a failure can be repeated
	random := rand.New(rand.NewPCG(seed, seed))
	prefix := func() netip.Prefix {
		// All ranges are within 10.0.0.0/24, which makes ranges overlap, nest and touch.
		addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(random.IntN(256))})
		return netip.PrefixFrom(addr, 24+random.IntN(9)).Masked()
	}
	for range 500 {
		ranges := make([]CIDR, random.IntN(12))
		var in [256]bool
		for i := range ranges {
			ranges[i] = CIDR{prefix()}
			for j := range in {
				in[j] = in[j] || ranges[i].Contains(netip.AddrFrom4([4]byte{10, 0, 0, byte(j)}))
			}
		}
		set := NewCIDRSet(ranges)
		for range 100 {
			p, want := prefix(), true
			for j := range in {
				want = want && (in[j] || !p.Contains(netip.AddrFrom4([4]byte{10, 0, 0, byte(j)})))
			}
			if got := set.Covers(p); got != want {
				t.Fatalf("%v covers %v: got %v, want %v", ranges, p, got, want)
			}
		}
	}
}

func TestCIDRSetEdges(t *testing.T) {
	whole := NewCIDRSet([]CIDR{{netip.MustParsePrefix("0.0.0.0/1")}, {netip.MustParsePrefix("128.0.0.0/1")}})
	for p, want := range map[string]bool{"0.0.0.0/0": true, "192.0.2.1/32": true, "::/0": false, "::1/128": false} {
		if got := whole.Covers(netip.MustParsePrefix(p)); got != want {
			t.Errorf("%s: got %v, want %v", p, got, want)
		}
	}
	halves := NewCIDRSet([]CIDR{{netip.MustParsePrefix("2001:db8::/33")}, {netip.MustParsePrefix("2001:db8:8000::/33")}})
	if !halves.Covers(netip.MustParsePrefix("2001:db8::/32")) || halves.Covers(netip.MustParsePrefix("2001:db8::/31")) {
		t.Error("two halves are the whole, and no more")
	}
}

func TestParsePrefix(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.0/8": "10.0.0.0/8", "10.0.0.1": "10.0.0.1/32", "::ffff:10.0.0.0/104": "10.0.0.0/8",
		"::ffff:0:0/96": "0.0.0.0/0", "::ffff:0:0/95": "::ffff:0.0.0.0/95", "2001:db8::/32": "2001:db8::/32",
	} {
		if got, err := ParsePrefix(text); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
}

// The last number of an address fills the remaining bytes, and no more.
func TestParseLooseIPv4(t *testing.T) {
	for text, want := range map[string]string{ // empty if it is not an address
		"1.2.3.255": "1.2.3.255", "1.2.3.256": "", "256.2.3.4": "", "1.2.65535": "1.2.255.255", "1.2.65536": "",
		"1.16777215": "1.255.255.255", "1.16777216": "", "4294967295": "255.255.255.255", "4294967296": "",
		"0x7f.1": "127.0.0.1", "017700000001": "127.0.0.1", "1.2.3.4.5": "", "1..2": "",
	} {
		got, ok := ParseLooseIPv4(text)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%s: %s, %t, want %q", text, got, ok, want)
		}
	}
}
