package policy

import (
	_ "crypto/sha512" // go-digest takes a digest for unsupported unless its algorithm is linked in: sha384 and sha512
	"errors"
	"fmt"
	"iter"
	"strings"

	grammar "github.com/distribution/reference"
)

// reference is an image reference as the container runtimes read it.
type reference struct {
	name   string // registry and path, none of them left out: docker.io/library/nginx
	suffix string // tag and digest exactly as written: ":1.25", "@sha256:…", both or neither
}

// maxReference is longer than any reference that can be pulled: a host name has at most 253 characters, a port 6, a
// path 255, a tag 129 and a digest 136, each with its separator. What is longer is not worth the parser's time.
const maxReference = 1024

// parseReference reads an image as users write it. The error's text is safe to show: printable and of bounded length.
func parseReference(s string) (reference, error) {
	if ref, ok := plainReference(s); ok {
		return ref, nil
	}
	return grammarReference(s)
}

func grammarReference(s string) (reference, error) {
	if err := plausible(s); err != nil {
		return reference{}, err
	}
	named, err := grammar.ParseNormalizedNamed(s)
	if err != nil {
		return reference{}, err
	}
	// Host names have no case, but the grammar keeps it: GHCR.IO is pulled from ghcr.io, so it is judged as ghcr.io.
	registry := grammar.Domain(named)
	if lower := strings.ToLower(registry); lower != registry && isRegistry(lower) {
		return parseReference(lower + s[len(registry):])
	}
	return reference{named.Name(), s[nameEnd(s):]}, nil
}

// plausible refuses what the parser need not, or should not, see: its errors repeat what it was given.
func plausible(s string) error {
	switch {
	case s == "":
		return errors.New("it is empty")
	case len(s) > maxReference:
		return fmt.Errorf("it has %d bytes, and no image reference has more than %d", len(s), maxReference)
	}
	for _, c := range s {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("it has the character %q, which no image reference has", c)
		}
	}
	return nil
}

// nameEnd returns where the name ends in a reference, and a tag or digest begins.
func nameEnd(s string) int {
	last := strings.LastIndexByte(s, '/') + 1 // a colon further left belongs to a port
	for i := last; i < len(s); i++ {
		if s[i] == ':' || s[i] == '@' {
			return i
		}
	}
	return len(s)
}

// String returns the reference in full: docker.io/library/nginx:1.25.
func (r reference) String() string { return r.name + r.suffix }

// is says whether s is the reference in full.
func (r reference) is(s string) bool {
	suffix, ok := strings.CutPrefix(s, r.name)
	return ok && suffix == r.suffix
}

// registry returns the host, with its port if it has one.
func (r reference) registry() string {
	registry, _, _ := strings.Cut(r.name, "/")
	return registry
}

// tag returns the tag without its colon; empty when there is none.
func (r reference) tag() string {
	tag, _, _ := strings.Cut(r.suffix, "@")
	return strings.TrimPrefix(tag, ":")
}

// digest returns the digest without its @; empty when there is none.
func (r reference) digest() string {
	_, digest, _ := strings.Cut(r.suffix, "@")
	return digest
}

// version returns what decides which image of the repository is pulled: the digest where there is one, whatever tag
// stands before it, or else the tag. It keeps its separator; it is empty when there is neither.
func (r reference) version() string {
	if i := strings.IndexByte(r.suffix, '@'); i >= 0 {
		return r.suffix[i:]
	}
	return r.suffix
}

// ancestors yields a name and then every place above it, up to its registry: a.example/b/c, a.example/b, a.example.
func ancestors(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(name) {
			i := strings.LastIndexByte(name, '/')
			if i < 0 {
				return
			}
			name = name[:i]
		}
	}
}

// isRegistry tells whether the first segment of a name is a registry: without a dot, a port or the name localhost it
// is a path on docker.io.
func isRegistry(segment string) bool {
	return segment == "localhost" || strings.IndexByte(segment, '.') >= 0 || strings.IndexByte(segment, ':') >= 0
}

// shownImage is how many bytes of an image a sentence shows: what is longer is no image that a registry has.
const shownImage = 256

// quotedImage returns an image as it was written, fit for a sentence: in quotes, on one line, of bounded length.
func quotedImage(image string) string { return quotedUpTo(shownImage, image) }
