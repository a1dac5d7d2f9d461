package match

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// ParsePlace parses a registry, or a registry and a path, as they are written in policies: docker.io,
// reg.example:5000/team. It returns the place in the form of Reference.Name, so index.docker.io becomes docker.io, and
// reg.example:443 becomes reg.example. The error contains the mistake and suggests a valid place.
func ParsePlace(s string) (string, error) {
	wrong := func(what, better string) (string, error) {
		return "", fmt.Errorf("%s %s: write %s", QuoteImage(s), what, better)
	}
	registry, path, hasPath := strings.Cut(s, "/")
	if _, rest, ok := strings.Cut(s, "://"); ok {
		return wrong("has a scheme", strings.TrimSuffix(rest, "/"))
	}
	if rest, ok := strings.CutSuffix(s, "/"); ok {
		return wrong("ends with a slash", rest)
	}
	if hasVersion(s) {
		return wrong("has a tag or digest", s[:nameEnd(s)])
	}
	if lower := strings.ToLower(s); lower != s {
		return wrong("has upper case letters", lower)
	}
	if !isRegistry(registry) {
		if ref, err := ParseReference(s, ""); err == nil {
			return wrong("has no registry", ref.Name)
		}
		return wrong("has no registry", "one, such as docker.io or reg.example:5000/team")
	}
	normal, err := normalRegistry(registry)
	if _, ok := errors.AsType[registryError](err); ok {
		return "", fmt.Errorf("%s is not a registry: %w", QuoteImage(s), err)
	}
	if err != nil || hasPath && (!isWords(path, "/_") || len(path) > maxPath) {
		return wrong("is neither a registry nor a registry with a path", "one such as docker.io or reg.example:5000/team")
	}
	if normal == "index.docker.io" {
		normal = DockerHub
	}
	return normal + s[len(registry):], nil
}

// hasVersion reports whether s contains a tag or digest. Without a path, digits after a colon are a port.
func hasVersion(s string) bool {
	version := s[nameEnd(s):]
	return version != "" && (strings.Contains(s, "/") || strings.Trim(version[1:], "0123456789") != "")
}

// Wildcard covers the registries below a domain. Two wildcards can be compared with ==.
type Wildcard struct {
	Domain string
	Deep   bool // covers one label or more below Domain, written **.domain; otherwise exactly one, written *.domain
}

// ParseWildcard parses *.domain or **.domain. The error contains the mistake and suggests a valid wildcard.
func ParseWildcard(s string) (Wildcard, error) {
	var why string
	switch stars, domain, found := strings.Cut(s, "."); {
	case !found || stars != "*" && stars != "**":
		why = "write *.gcr.io for one label, **.gcr.io for one or more"
	case strings.ContainsAny(domain, "/:"):
		why = "it covers whole registries, so it has no path and no port"
	default:
		if _, err := ParsePlace("x." + domain); err == nil {
			return Wildcard{domain, stars == "**"}, nil
		}
		why = text.Quote(domain) + " is not the name of a domain in lower case"
	}
	return Wildcard{}, fmt.Errorf("%s is not a wildcard: %s", QuoteImage(s), why)
}

// String returns the wildcard as it is written.
func (w Wildcard) String() string {
	if w.Deep {
		return "**." + w.Domain
	}
	return "*." + w.Domain
}

// Wildcards yields every wildcard that covers a registry and whose domain has at most n dots. Longer domains come
// first. For the same domain, the wildcard for a single label comes first. No wildcard covers a registry with a port.
func Wildcards(registry string, n int) iter.Seq[Wildcard] {
	return func(yield func(Wildcard) bool) {
		_, all, found := strings.Cut(registry, ".")
		if !found || strings.Contains(registry, ":") {
			return
		}
		domain := upToDot(all, n)
		if domain == all && !yield(Wildcard{domain, false}) {
			return
		}
		for found && yield(Wildcard{domain, true}) {
			_, domain, found = strings.Cut(domain, ".")
		}
	}
}

// upToDot returns the domain at or above a name that has at most n dots.
func upToDot(name string, n int) string {
	start := len(name)
	for ; n >= 0; n-- {
		if start = strings.LastIndexByte(name[:start], '.'); start < 0 {
			return name
		}
	}
	return name[start+1:]
}
