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

// normalRegistry returns the normal spelling of a registry. Images and policies can be compared as text in this form.
// It accepts two differences between spellings, because people write them:
//
//   - Host names ignore case, but the grammar keeps it: GHCR.IO is ghcr.io.
//   - The default port :443 is omitted. Only a host without a dot keeps it, because it would otherwise be part of a
//     path: Reg/x is an image of reg:443.
//
// It returns an error for other spellings that runtimes accept, such as reg.example:0443, [2001:db8:0::1] or
// 0300.0.2.1. An image with such a registry is malformed. Nobody has a reason to write one, except to evade a rule.
//
// Use the result only for comparisons. A patch contains the registry of a mirror as it is written in the policy.
func normalRegistry(s string) (string, error) {
	if s != "" && 'f' < s[len(s)-1] && isWords(s, "") {
		return s, nil // most registries are such host names; a number never ends with a letter after f
	}
	end := 0
	if strings.HasPrefix(s, "[") {
		end = strings.IndexByte(s, ']') + 1 // an IPv6 address
	}
	name, port, hasPort := strings.Cut(s[end:], ":")
	written := s[:end+len(name)]
	host := LowerASCII(written) // strings.ToLower would turn the Kelvin sign, which is not valid, into a letter
	// In the grammar, a first segment with underscores is part of the path. Runtimes nevertheless send the request to the
	// host with that name.
	if err := checkHost(host, !hasPort && host == written); err != nil {
		return "", err
	}
	switch {
	case hasPort && port == "":
		return "", errFormat
	case hasPort && !isPort(port):
		return "", registryError{"port", port, "ports are 1 to 65535, without leading zeros"}
	case isRegistry(host) && (!hasPort || port == defaultPort):
		return host, nil
	case !hasPort:
		return host + ":" + defaultPort, nil
	case host == written:
		return s, nil
	}
	return host + ":" + port, nil
}

const defaultPort = "443" // the port of HTTPS, which runtimes use for every registry unless configured otherwise

// isPort reports whether s is a number from 1 to 65535 without leading zeros.
func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s[0] != '0'
}

// registryError is the error for a registry with a wrong port or a wrong address.
type registryError struct{ part, value, rule string }

func (e registryError) Error() string {
	return fmt.Sprintf("it has the %s %s, and %s", e.part, text.Truncate(e.value, text.Short), e.rule)
}

// checkHost returns an error unless s is a host name in lower case or an IP address. An IPv6 address has to be in its
// shortest spelling, and an IPv4 address consists of four decimal numbers. A host that ends in a number has to be an
// address, because resolvers read 0300.0.2.1 and 192.0.513 as addresses too.
func checkHost(s string, underscores bool) error {
	wrong := registryError{"host", s, "addresses are written like 192.0.2.1 or [2001:db8::1]"}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok || strings.Trim(inner, "0123456789abcdef:") != "" {
			return errFormat
		}
		// An IPv4-mapped address would be printed with dots.
		if addr, err := netip.ParseAddr(inner); err != nil || addr.String() != inner {
			return wrong
		}
		return nil
	}
	switch {
	case !isWords(s, ""):
		if underscores && isWords(s, "_") {
			return nil
		}
		return errFormat
	case EndsInNumber(s):
		if _, err := netip.ParseAddr(s); err != nil {
			return wrong
		}
	}
	return nil
}
