package match

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// DockerHub is the registry of Docker Hub in image names.
const DockerHub = "docker.io"

// isDockerHub reports whether a registry is one of the hosts that serve the images of docker.io.
func isDockerHub(registry string) bool {
	switch registry {
	case DockerHub, "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com":
		return true
	}
	return false
}

// isRegistry reports whether the first segment of a name is a registry. A segment without a dot or a port is part of a
// path on docker.io, unless it is localhost.
func isRegistry(segment string) bool {
	return segment == "localhost" || strings.IndexByte(segment, '.') >= 0 || strings.IndexByte(segment, ':') >= 0
}

// normalRegistry returns the normal spelling of a registry. All spellings with which a runtime requests the same
// registry have the same result, so the names in policies and images can be compared as text:
//
//   - Host names ignore case, but the grammar keeps it: GHCR.IO is ghcr.io.
//   - Ports are numbers: reg.example:05000 is reg.example:5000. The default port :443 is omitted. Only a host without a
//     dot keeps it, because it would otherwise be part of a path: Reg/x and reg:0443/x are both images of reg:443.
//   - IP addresses are numbers too: [2001:DB8:0::1] is [2001:db8::1]. An IPv4 address in any form that a resolver
//     accepts, such as [::ffff:c000:201] or 192.0.513, becomes four decimal numbers.
//
// Use the result only for comparisons. A patch contains the registry of a mirror as it is written in the policy.
func normalRegistry(s string) (string, error) {
	if s != "" && 'f' < s[len(s)-1] && isWords(s, false, false) {
		return s, nil // most registries are such host names; a number never ends with a letter after f
	}
	host, port, hasPort := cutPort(s)
	normal, err := normalHost(host, hasPort)
	if err != nil {
		return "", err
	}
	number := ""
	if hasPort {
		if number, err = normalPort(port); err != nil {
			return "", err
		}
	}
	switch bare := isRegistry(normal); {
	case bare && number == defaultPort:
		number = ""
	case !bare && number == "":
		number = defaultPort
	}
	switch {
	case normal == host && number == port:
		return s, nil
	case number == "":
		return normal, nil
	}
	return normal + ":" + number, nil
}

const defaultPort = "443" // the port of HTTPS, which runtimes use for every registry unless configured otherwise

// cutPort splits a registry into host and port.
func cutPort(s string) (host, port string, found bool) {
	end := 0
	if strings.HasPrefix(s, "[") {
		end = strings.IndexByte(s, ']') + 1
	}
	colon := strings.IndexByte(s[end:], ':')
	if colon < 0 {
		return s, "", false
	}
	return s[:end+colon], s[end+colon+1:], true
}

// normalPort returns a port without leading zeros.
func normalPort(s string) (string, error) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return "", errFormat
	}
	number := strings.TrimLeft(s, "0")
	const most = 5 // digits; the error of ParseUint would copy a longer number
	if number == "" || len(number) > most {
		return "", portError(s)
	}
	if _, err := strconv.ParseUint(number, 10, 16); err != nil {
		return "", portError(s)
	}
	return number, nil
}

// portError is the error for an impossible port. Its value is the port.
type portError string

func (p portError) Error() string {
	return fmt.Sprintf("it has the port %s, and ports are 1 to 65535", text.Truncate(string(p), text.Short))
}

// addressError is the error for a host in brackets that is not an IPv6 address. Its value is the host.
type addressError string

func (a addressError) Error() string {
	return fmt.Sprintf("it has the host %s, and that is not an IPv6 address", text.Truncate(string(a), text.Short))
}

// normalHost returns a host name in lower case, or an IP address in its normal spelling.
func normalHost(s string, hasPort bool) (string, error) {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok || strings.Trim(inner, "0123456789abcdefABCDEF:") != "" {
			return "", errFormat
		}
		addr, err := netip.ParseAddr(inner)
		if err != nil || !addr.Is6() {
			return "", addressError(s)
		}
		if addr.Is4In6() {
			return addr.Unmap().String(), nil
		}
		return "[" + addr.String() + "]", nil
	}
	lower := s
	if hasUpper(s) {
		lower = LowerASCII(s) // strings.ToLower would turn the Kelvin sign, which references cannot contain, into a letter
	}
	if !isWords(lower, false, false) {
		// In the grammar, a first segment with underscores is part of the path. Runtimes nevertheless send the request to the
		// host with that name.
		if !hasPort && lower == s && isWords(s, false, true) {
			return s, nil
		}
		return "", errFormat
	}
	if EndsInNumber(lower) {
		if addr, ok := ParseLooseIPv4(lower); ok {
			return addr.String(), nil
		}
	}
	return lower, nil
}

func hasUpper(s string) bool {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			return true
		}
	}
	return false
}
