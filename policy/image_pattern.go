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
func (p *imagePattern) UnmarshalText(b []byte) error {
	s := string(b)
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

// imageSet is a list of patterns, made for lookups whose cost depends neither on its length nor on that of the image's
// path: ten rules ask about each of the thousands of images that a Pod may have.
type imageSet struct {
	names   map[string]coverage
	images  map[imagePattern]struct{} // those that have a version
	slashes int                       // in the name that has most of them
}

// coverage is what the patterns of one name cover, all of them together.
type coverage uint8

const (
	coversAll     coverage = 1 << iota // the name, and all below it
	coversBeneath                      // all below it
	coversVersion                      // an image of this name
)

func newImageSet(patterns []imagePattern) imageSet {
	set := imageSet{names: make(map[string]coverage, len(patterns))}
	for _, p := range patterns {
		covers := coversAll
		switch {
		case p.beneath:
			covers = coversBeneath
		case p.version != "":
			covers = coversVersion
			if set.images == nil {
				set.images = map[imagePattern]struct{}{}
			}
			set.images[p] = struct{}{}
		}
		set.names[p.name] |= covers
		set.slashes = max(set.slashes, strings.Count(p.name, "/"))
	}
	return set
}

// find returns the narrowest pattern that covers an image.
func (s imageSet) find(ref reference) (imagePattern, bool) {
	if len(s.images) > 0 && s.names[ref.name]&coversVersion != 0 {
		p := imagePattern{name: ref.name, version: ref.version()}
		if _, ok := s.images[p]; ok {
			return p, true
		}
	}
	return s.findPlace(ref.name)
}

// findUnderAnyName returns a pattern that covers an image in whichever way it is written: under each name that its
// repository has on Docker Hub, by its tag where a digest stands behind it too, or by its place.
func (s imageSet) findUnderAnyName(ref reference) (imagePattern, bool) {
	for name := range ref.names {
		if p, ok := s.findVersion(name, ref.suffix); ok {
			return p, true
		}
		if p, ok := s.findPlace(name); ok {
			return p, true
		}
	}
	return imagePattern{}, false
}

// findVersion returns the pattern for an image's name that has the digest of its suffix, or the tag, whether or not a
// digest stands behind it.
func (s imageSet) findVersion(name, suffix string) (imagePattern, bool) {
	if len(s.images) == 0 || s.names[name]&coversVersion == 0 {
		return imagePattern{}, false
	}
	tag, _, _ := strings.Cut(suffix, "@")
	for _, version := range [...]string{suffix[len(tag):], tag} {
		p := imagePattern{name: name, version: version}
		if _, ok := s.images[p]; ok {
			return p, true
		}
	}
	return imagePattern{}, false
}

// findPlace returns the narrowest pattern that covers every image at a place, the one of its own name among them.
func (s imageSet) findPlace(place string) (imagePattern, bool) {
	if len(s.names) == 0 {
		return imagePattern{}, false
	}
	for name := upToSlash(place, s.slashes); ; {
		covers := s.names[name]
		if covers&coversAll != 0 {
			return imagePattern{name: name}, true
		}
		if covers&coversBeneath != 0 && name != place {
			return imagePattern{name: name, beneath: true}, true
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return imagePattern{}, false
		}
		name = name[:i]
	}
}

// covers says whether the set covers all that a pattern does.
func (s imageSet) covers(p imagePattern) bool {
	switch {
	case p.version != "":
		_, ok := s.find(reference{p.name, p.version})
		return ok
	case p.beneath && s.names[p.name]&coversBeneath != 0:
		return true
	}
	_, ok := s.findPlace(p.name)
	return ok
}

// upToSlash returns the place at or above a name that has at most n slashes.
func upToSlash(name string, n int) string {
	end := 0
	for ; n >= 0; n-- {
		i := strings.IndexByte(name[end:], '/')
		if i < 0 {
			return name
		}
		end += i + 1
	}
	return name[:end-1]
}
