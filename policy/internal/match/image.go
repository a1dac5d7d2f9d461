package match

import (
	"fmt"
	"strings"
)

// ImagePattern covers images by the place they are pulled from:
//
//	ghcr.io                            every image of a registry
//	ghcr.io/acme                       the image of that name, and every one below it; not ghcr.io/acme-evil
//	ghcr.io/acme/*                     only those below it
//	ghcr.io/acme/app:1.25              only this tag, written without a digest
//	ghcr.io/acme/app@sha256:…          only this digest, whatever the tag: the digest decides what is pulled
//
// Two patterns can be compared with ==.
type ImagePattern struct {
	Name    string // as in Reference.Name
	Version string // as Reference.Version returns it; empty for a place
	Beneath bool   // only images below Name
}

// UnmarshalText requires the registry, so that readers of a policy need not know which one an image without it has.
func (p *ImagePattern) UnmarshalText(b []byte) error {
	s := string(b)
	above, beneath := strings.CutSuffix(s, "/*")
	if hasVersion(s) && !beneath {
		return p.unmarshalImage(s)
	}
	if strings.Contains(above, "*") {
		return fmt.Errorf("%s is not a place for images: a * can only be its last segment, as in ghcr.io/acme/*",
			QuoteImage(s))
	}
	name, err := ParsePlace(above)
	if err != nil {
		return err
	}
	*p = ImagePattern{Name: name, Beneath: beneath}
	return nil
}

func (p *ImagePattern) unmarshalImage(s string) error {
	ref, err := ParseReference(s)
	if err != nil {
		return fmt.Errorf("%s is not an image: %w", QuoteImage(s), err)
	}
	if first, _, hasPath := strings.Cut(s, "/"); !hasPath || !isRegistry(first) {
		return fmt.Errorf("%s names no registry: write %s", QuoteImage(s), ref)
	}
	*p = ImagePattern{Name: ref.Name, Version: ref.Version()}
	return nil
}

// String returns the pattern as policies have it.
func (p ImagePattern) String() string {
	if p.Beneath {
		return p.Name + "/*"
	}
	return p.Name + p.Version
}

// ImageSet is a set of patterns. The cost of a look-up depends neither on how many there are nor on the length of the
// image's path: ten rules may look up each of the thousands of images that a Pod can have. The zero value is empty.
type ImageSet struct {
	names   map[string]coverage
	images  map[ImagePattern]struct{} // those that have a version
	slashes int                       // the most that a name has
}

// coverage is what all patterns of one name cover together.
type coverage uint8

const (
	coversAll     coverage = 1 << iota // images of the name, and all below it
	coversBeneath                      // all images below it
	coversVersion                      // one version of the name
)

// NewImageSet returns a set of patterns.
func NewImageSet(patterns []ImagePattern) ImageSet {
	set := ImageSet{names: make(map[string]coverage, len(patterns))}
	for _, p := range patterns {
		covers := coversAll
		switch {
		case p.Beneath:
			covers = coversBeneath
		case p.Version != "":
			covers = coversVersion
			if set.images == nil {
				set.images = map[ImagePattern]struct{}{}
			}
			set.images[p] = struct{}{}
		}
		set.names[p.Name] |= covers
		set.slashes = max(set.slashes, strings.Count(p.Name, "/"))
	}
	return set
}

// Find returns the narrowest pattern that covers an image, and whether there is one.
func (s ImageSet) Find(ref Reference) (ImagePattern, bool) {
	if len(s.images) > 0 && s.names[ref.Name]&coversVersion != 0 {
		p := ImagePattern{Name: ref.Name, Version: ref.Version()}
		if _, ok := s.images[p]; ok {
			return p, true
		}
	}
	return s.FindPlace(ref.Name)
}

// FindUnderAnyName returns a pattern that covers an image however either is written, and whether there is one: under
// each name that its repository has on Docker Hub, by its tag also where a digest stands behind it, or by its place.
// That is what denying needs: a tenant must not pass by another spelling.
func (s ImageSet) FindUnderAnyName(ref Reference) (ImagePattern, bool) {
	for name := range ref.names {
		if p, ok := s.findVersion(name, ref.Suffix); ok {
			return p, true
		}
		if p, ok := s.FindPlace(name); ok {
			return p, true
		}
	}
	return ImagePattern{}, false
}

// findVersion returns the pattern of a name that has the digest of a suffix, or its tag whether or not a digest stands
// behind it.
func (s ImageSet) findVersion(name, suffix string) (ImagePattern, bool) {
	if len(s.images) == 0 || s.names[name]&coversVersion == 0 {
		return ImagePattern{}, false
	}
	tag, _, _ := strings.Cut(suffix, "@")
	for _, version := range [...]string{suffix[len(tag):], tag} {
		p := ImagePattern{Name: name, Version: version}
		if _, ok := s.images[p]; ok {
			return p, true
		}
	}
	return ImagePattern{}, false
}

// FindPlace returns the narrowest pattern that covers every image at a place, including the image of that name, and
// whether there is one.
func (s ImageSet) FindPlace(place string) (ImagePattern, bool) {
	if len(s.names) == 0 {
		return ImagePattern{}, false
	}
	for name := UpToSlash(place, s.slashes); ; {
		covers := s.names[name]
		if covers&coversAll != 0 {
			return ImagePattern{Name: name}, true
		}
		if covers&coversBeneath != 0 && name != place {
			return ImagePattern{Name: name, Beneath: true}, true
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return ImagePattern{}, false
		}
		name = name[:i]
	}
}

// Covers reports whether the set covers all that a pattern does.
func (s ImageSet) Covers(p ImagePattern) bool {
	switch {
	case p.Version != "":
		_, ok := s.Find(Reference{p.Name, p.Version})
		return ok
	case p.Beneath && s.names[p.Name]&coversBeneath != 0:
		return true
	}
	_, ok := s.FindPlace(p.Name)
	return ok
}

// UpToSlash returns the place at or above a name that has at most n slashes: where a look-up of places no deeper than
// that can begin.
func UpToSlash(name string, n int) string {
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
