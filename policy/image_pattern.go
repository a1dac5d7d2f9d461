package policy

import (
	"fmt"
	"strings"
)

// imagePattern covers images by where they are:
//
//	ghcr.io                            every image of a registry
//	ghcr.io/acme                       the image of that name, and every one below it; not ghcr.io/acme-evil
//	ghcr.io/acme/*                     only those below it
//	ghcr.io/acme/app:1.25              only this tag, written without a digest
//	ghcr.io/acme/app@sha256:…          only this digest, whatever tag stands before it: it alone decides what is pulled
type imagePattern struct {
	name    string // normalised
	version string // as of reference.version; empty for a place
	beneath bool   // only what lies below name
}

// UnmarshalText reads a pattern. It wants the registry, so that nobody need know what an image without one means.
func (p *imagePattern) UnmarshalText(text []byte) error {
	s := string(text)
	above, beneath := strings.CutSuffix(s, "/*")
	if hasVersion(s) && !beneath {
		return p.unmarshalImage(s)
	}
	if strings.Contains(above, "*") {
		return fmt.Errorf("%s is not a place for images: a * can only be its last segment, as in ghcr.io/acme/*", quotedImage(s))
	}
	name, err := parsePlace(above)
	if err != nil {
		return err
	}
	*p = imagePattern{name: name, beneath: beneath}
	return nil
}

func (p *imagePattern) unmarshalImage(s string) error {
	ref, err := parseReference(s)
	if err != nil {
		return fmt.Errorf("%s is not an image: %w", quotedImage(s), err)
	}
	if first, _, hasPath := strings.Cut(s, "/"); !hasPath || !isRegistry(first) {
		return fmt.Errorf("%s names no registry: write %s", quotedImage(s), ref)
	}
	*p = imagePattern{name: ref.name, version: ref.version()}
	return nil
}

// String returns the pattern as policies have it.
func (p imagePattern) String() string {
	if p.beneath {
		return p.name + "/*"
	}
	return p.name + p.version
}

// imageSet is a list of patterns, made for lookups whose cost does not depend on its length.
type imageSet map[imagePattern]struct{}

func newImageSet(patterns []imagePattern) imageSet {
	set := make(imageSet, len(patterns))
	for _, p := range patterns {
		set[p] = struct{}{}
	}
	return set
}

// find returns the narrowest pattern that covers an image.
func (s imageSet) find(ref reference) (imagePattern, bool) {
	if len(s) == 0 {
		return imagePattern{}, false
	}
	if p := (imagePattern{name: ref.name, version: ref.version()}); s.has(p) {
		return p, true
	}
	return s.findPlace(ref.name)
}

// findPlace returns the narrowest pattern that covers every image at a place, the one of its own name among them.
func (s imageSet) findPlace(place string) (imagePattern, bool) {
	if len(s) == 0 {
		return imagePattern{}, false
	}
	for name := range ancestors(place) {
		if p := (imagePattern{name: name}); s.has(p) {
			return p, true
		}
		if p := (imagePattern{name: name, beneath: true}); name != place && s.has(p) {
			return p, true
		}
	}
	return imagePattern{}, false
}

func (s imageSet) has(p imagePattern) bool {
	_, ok := s[p]
	return ok
}
