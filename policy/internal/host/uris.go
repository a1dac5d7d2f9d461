package host

import (
	"iter"
	"net/netip"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
)

// uriHosts is the grammar of a comma-separated list of URIs. Each URI may have a host.
func uriHosts(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for uri := range v.elements {
			if p, ok := URIName(uri); ok && !yield(uri, p) {
				return
			}
		}
	}
}

// addressHosts is the grammar of a comma-separated list of IP addresses.
func addressHosts(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for address := range v.elements {
			if p, ok := AddressName(address); ok && !yield(address, p) {
				return
			}
		}
	}
}

// urlHost is the grammar of one URL, or of a host with or without a port. *.example covers any number of labels. Text
// before an @ may contain a colon, and is not the host, so such a URL claims every host.
func urlHost(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		value := strings.TrimSpace(v.Text)
		if value == "" {
			return
		}
		scheme, rest, found := strings.Cut(value, "://")
		if !found || !isScheme(scheme) {
			rest = value
		}
		authority, _, _ := strings.Cut(rest, "/")
		host, _, _ := strings.Cut(authority, ":")
		p := AnyDepth(host)
		if strings.Contains(authority, "@") {
			p = match.EveryHost()
		}
		yield(value, p)
	}
}

// URIName reads a URI and returns the host of its authority, as in https://web.example/a. A urn: URI has no host. The
// trust domain of spiffe://cluster.local/ns/team identifies a set of workloads, not a host. Any other URI without a
// host may mean every host. For example, the host of sip:user@example is not in the usual place.
func URIName(s string) (match.HostPattern, bool) {
	scheme, rest, ok := strings.Cut(s, ":")
	authority, hierarchical := strings.CutPrefix(rest, "//")
	switch {
	case ok && (strings.EqualFold(scheme, "urn") || strings.EqualFold(scheme, "spiffe") && hierarchical):
		return match.HostPattern{}, false
	case !hierarchical, !isScheme(scheme):
		return match.EveryHost(), true
	}
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	return authorityName(authority)
}

// isScheme reports whether a text is a URI scheme (RFC 3986).
func isScheme(s string) bool {
	letter := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	return s != "" && letter(rune(s[0])) && !strings.ContainsFunc(s, func(c rune) bool {
		return !letter(c) && (c < '0' || c > '9') && c != '+' && c != '-' && c != '.'
	})
}

// authorityName reads the authority of a URI: a host, which may follow a user and precede a port. Readers of URIs parse
// an authority with two @ or a backslash in different ways, so it is every host.
func authorityName(s string) (match.HostPattern, bool) {
	host := s[strings.LastIndexByte(s, '@')+1:]
	if strings.Count(s, "@") > 1 || strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c == '\\' || c > '~'
	}) {
		return match.EveryHost(), true
	}
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		if strings.Trim(host[colon+1:], "0123456789") != "" {
			return match.EveryHost(), true
		}
		host = host[:colon]
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		if !closed {
			return match.EveryHost(), true
		}
		return AddressName(inner)
	}
	return OneLabel(host), true
}

// AddressName reads an IP address. An IPv4 address within IPv6 is read as the IPv4 address, as in the certificate.
func AddressName(s string) (match.HostPattern, bool) {
	inAddress := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' || c == '.' || c == ':'
	}
	if strings.ContainsFunc(s, func(c rune) bool { return !inAddress(c) }) { // also a zone, which certificates do not have
		return match.EveryHost(), true
	}
	ip, err := netip.ParseAddr(s)
	if err != nil {
		return match.EveryHost(), true
	}
	var canonical [len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")]byte
	if text := ip.Unmap().AppendTo(canonical[:0]); string(text) != s { // most addresses are canonical and are not copied
		s = string(text)
	}
	return match.HostPattern{Name: s}, true
}
