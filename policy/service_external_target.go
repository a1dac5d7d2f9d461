package policy

import (
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// targetKind says what makes the target of an ExternalName unsafe: whoever follows it (an ingress controller, a Pod
// with more rights than the author of the Service) ends up at a place that trusts callers from where it stands.
type targetKind uint8

const (
	ordinaryTarget  targetKind = iota
	metadataTarget             // a cloud's metadata service, which hands out credentials
	loopbackTarget             // whoever follows the name
	addressTarget              // an IP address, which a name must not be
	clusterTarget              // inside the cluster, past namespaces and network policies
	unqualifiedName            // a name of one label, completed by whoever resolves it
)

// describe returns what a sentence says of a target of this kind.
func (k targetKind) describe() string {
	return [...]string{
		metadataTarget:  "is the address of a cloud's metadata service",
		loopbackTarget:  "is the machine of whoever follows it (localhost)",
		addressTarget:   "is an IP address, not a name",
		clusterTarget:   "is a name inside the cluster",
		unqualifiedName: "has one label only, so that its meaning depends on who resolves it",
	}[k]
}

// kindOf classifies a host name in lower case without trailing dot. It looks at the name alone: what a name resolves
// to is known only to those who resolve it, and may differ the next time (so localtest.me, or a cluster domain other
// than cluster.local, is for denied to name).
func kindOf(name string) targetKind {
	if kind := kindOfAddress(name); kind != ordinaryTarget {
		return kind
	}
	labels := strings.Split(name, ".")
	top := labels[len(labels)-1]
	switch {
	case slices.Contains(metadataNames, name):
		return metadataTarget
	case top == "localhost", isLoopbackName(labels):
		return loopbackTarget
	case top == "svc", name == "cluster.local", strings.HasSuffix(name, ".cluster.local"):
		return clusterTarget
	case len(labels) == 1:
		return unqualifiedName
	}
	return ordinaryTarget
}

// metadataNames are the names under which clouds answer for their metadata service.
var metadataNames = []string{
	"metadata", "metadata.google.internal", "metadata.goog", // Google Cloud
	"instance-data", "instance-data.ec2.internal", // AWS
	"metadata.tencentyun.com", // Tencent Cloud
	"metadata.packet.net", "metadata.platformequinix.com",
}

// metadataRanges are the addresses of the same services. Most are link-local; the others are each cloud's own.
var metadataRanges = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"),     // AWS, Azure, Google Cloud, Oracle Cloud, OpenStack and others
	netip.MustParsePrefix("fe80::/10"),          // the same in IPv6: OpenStack
	netip.MustParsePrefix("fd00:ec2::/32"),      // AWS
	netip.MustParsePrefix("fd20:ce::/32"),       // Google Cloud
	netip.MustParsePrefix("fd00:c1::/32"),       // Oracle Cloud
	netip.MustParsePrefix("fd00:42::42/128"),    // Scaleway
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba Cloud
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure's WireServer
	netip.MustParsePrefix("192.0.0.192/32"),     // Oracle Cloud Classic
}

// isLoopbackName knows the names that hosts files give to the machine itself: those of Debian, of Red Hat, and those
// that kubelet writes into Pods. Names under .localhost are loopback by RFC 6761 and recognised by their last label.
func isLoopbackName(labels []string) bool {
	switch labels[0] {
	case "localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback", "loopback":
		return len(labels) == 1 || len(labels) == 2 && strings.HasPrefix(labels[1], "localdomain")
	}
	return false
}

// kindOfAddress classifies IP addresses in all the forms that resolvers accept. What ends in a number without being
// an address is one to somebody's parser: no top-level domain is a number.
func kindOfAddress(name string) targetKind {
	bare := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	addr, err := netip.ParseAddr(bare)
	if err != nil {
		var ok bool
		if addr, ok = parseLooseIPv4(name); !ok {
			if endsInNumber(name) {
				return addressTarget
			}
			return ordinaryTarget
		}
	}
	addr = addr.Unmap().WithZone("")
	switch {
	case slices.ContainsFunc(metadataRanges, func(p netip.Prefix) bool { return p.Contains(addr) }):
		return metadataTarget
	case addr.IsLoopback(), addr.IsUnspecified(): // Linux connects 0.0.0.0 and :: to itself
		return loopbackTarget
	}
	return addressTarget
}

// parseLooseIPv4 reads IPv4 addresses as inet_aton(3) does, and with it most resolvers: one to four numbers, decimal,
// octal (010) or hexadecimal (0x8), the last of which fills all bytes that are left. 127.1, 0x7f.1, 017700000001 and
// 2130706433 are the same address.
func parseLooseIPv4(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
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

// parseLooseNumber reads a number as C does. Go's base 0 would also accept 0b1, 0o7 and 1_0, which C does not know.
func parseLooseNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 32)
	return n, err == nil
}

// endsInNumber says whether the last label of a name is a number in digits or in hexadecimal.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, found := strings.CutPrefix(last, "0x"); found {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
