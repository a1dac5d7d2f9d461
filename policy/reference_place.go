package policy

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// parsePlace reads a registry, or a registry and a path, as policies name them: docker.io, reg.example:5000/team. It
// returns the place as the names of images have it, so that index.docker.io becomes docker.io, and reg.example:0443
// reg.example.
func parsePlace(s string) (string, error) {
	wrong := func(what, better string) (string, error) {
		return "", fmt.Errorf("%s %s: write %s", quotedImage(s), what, better)
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
		if ref, err := parseReference(s); err == nil {
			return wrong("names no registry", ref.name)
		}
		return wrong("names no registry", "one, such as docker.io or reg.example:5000/team")
	}
	normal, err := normalRegistry(registry)
	if _, ok := errors.AsType[portError](err); ok {
		return wrong("has a port that there is not", "one from 1 to 65535")
	}
	if err != nil || hasPath && (!isPath(path) || len(path) > maxPath) {
		return wrong("is not a registry, nor a registry and a path", "one such as docker.io or reg.example:5000/team")
	}
	if normal == "index.docker.io" {
		normal = dockerHub[0]
	}
	return normal + s[len(registry):], nil
}

// hasVersion tells whether a tag or digest stands behind a place. Without a path, digits behind a colon are a port.
func hasVersion(s string) bool {
	version := s[nameEnd(s):]
	return version != "" && (strings.Contains(s, "/") || strings.Trim(version[1:], "0123456789") != "")
}

// wildcard covers the hosts below a domain.
type wildcard struct {
	domain string
	deep   bool // one label or more, written **.domain; otherwise exactly one, written *.domain
}

// parseWildcard reads *.domain or **.domain.
func parseWildcard(s string) (wildcard, error) {
	stars, domain, found := strings.Cut(s, ".")
	if !found || stars != "*" && stars != "**" {
		return wildcard{}, fmt.Errorf("%s is not a wildcard: write *.gcr.io for one label, **.gcr.io for one or more",
			quotedImage(s))
	}
	if strings.ContainsAny(domain, "/:") {
		return wildcard{}, fmt.Errorf("%s is not a wildcard: it covers whole registries, so it has no path and no port",
			quotedImage(s))
	}
	if _, err := parsePlace("x." + domain); err != nil {
		return wildcard{}, fmt.Errorf("%s is not a wildcard: %s is not the name of a domain in lower case",
			quotedImage(s), text.Quote(domain))
	}
	return wildcard{domain, stars == "**"}, nil
}

// String returns the wildcard as it is written.
func (w wildcard) String() string {
	if w.deep {
		return "**." + w.domain
	}
	return "*." + w.domain
}

// wildcards yields every wildcard that covers a registry, the longest first; of two that are equally long, the one
// for a single label. A registry with a port is covered by none.
func wildcards(registry string) iter.Seq[wildcard] { return wildcardsUpTo(registry, len(registry)) }

// wildcardsUpTo yields those whose domain has at most n dots.
func wildcardsUpTo(registry string, n int) iter.Seq[wildcard] {
	return func(yield func(wildcard) bool) {
		_, all, found := strings.Cut(registry, ".")
		if !found || strings.Contains(registry, ":") {
			return
		}
		domain := upToDot(all, n)
		if domain == all && !yield(wildcard{domain, false}) {
			return
		}
		for found && yield(wildcard{domain, true}) {
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
