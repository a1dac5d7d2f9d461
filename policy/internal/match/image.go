package match

import (
	"fmt"
	"strings"
)

// ImagePattern covers images by registry, repository, tag or digest:
//
//	ghcr.io                            every image of the registry
//	ghcr.io/acme                       the image with that name, and every image below it; not ghcr.io/acme-evil
//	ghcr.io/acme/*                     only the images below it
//	ghcr.io/acme/app:1.25              only this tag, written without a digest
//	ghcr.io/acme/app@sha256:…          only this digest, with any tag, because the digest decides which image is pulled
//
// Two patterns can be compared with ==.
type ImagePattern struct {
	Name    string // the same form as Reference.Name
	Version string // the result of Reference.Version; empty for a place
	Beneath bool   // only images below Name
}

// UnmarshalText requires a registry. Readers of a policy then do not need to know the default registry.
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
	ref, err := ParseReference(s, "")
	if err != nil {
		return fmt.Errorf("%s is not an image: %w", QuoteImage(s), err)
	}
	if first, _, hasPath := strings.Cut(s, "/"); !hasPath || !isRegistry(first) {
		return fmt.Errorf("%s has no registry: write %s", QuoteImage(s), ref)
	}
	*p = ImagePattern{Name: ref.Name, Version: ref.Version()}
	return nil
}

// String returns the pattern as it is written in policies.
func (p ImagePattern) String() string {
	if p.Beneath {
		return p.Name + "/*"
	}
	return p.Name + p.Version
}

// ImageSet is a set of patterns. The cost of a look-up does not depend on the number of patterns or on the length of
// the image's path, because ten rules may look up each of the thousands of images that a Pod can have. The zero value
// is empty.
type ImageSet struct {
	names   map[string]coverage
	images  map[ImagePattern]struct{} // the patterns with a version
	slashes int                       // the maximum number of slashes in a name
}

// coverage is the combined coverage of all patterns with the same name.
type coverage uint8

const (
	coversAll     coverage = 1 << iota // the image of the name and all images below it
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

// Find returns the narrowest pattern that covers an image. It returns false if no pattern covers the image.
func (s ImageSet) Find(ref Reference) (ImagePattern, bool) {
	if len(s.images) > 0 && s.names[ref.Name]&coversVersion != 0 {
		p := ImagePattern{Name: ref.Name, Version: ref.Version()}
		if _, ok := s.images[p]; ok {
			return p, true
		}
	}
	return s.FindPlace(ref.Name)
}

// FindUnderAnyName returns a pattern that covers an image under any of its names. It tries every name that the
// repository has on Docker Hub, and tries the tag even if a digest follows the tag. Denials need this because a tenant
// must not be able to evade a rule with another spelling. It returns false if no pattern covers the image.
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

// findVersion returns the pattern for a name with the digest in suffix or with its tag. The tag also counts if a digest
// follows it.
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

// FindPlace returns the narrowest pattern that covers every image at a place, including the image with that name. It
// returns false if no pattern covers the place.
func (s ImageSet) FindPlace(place string) (ImagePattern, bool) {
	if len(s.names) == 0 {
		return ImagePattern{}, false
	}
	for name := range Ancestors(UpToSlash(place, s.slashes)) {
		covers := s.names[name]
		if covers&coversAll != 0 {
			return ImagePattern{Name: name}, true
		}
		if covers&coversBeneath != 0 && name != place {
			return ImagePattern{Name: name, Beneath: true}, true
		}
	}
	return ImagePattern{}, false
}

// Covers reports whether the set covers every image that p covers.
func (s ImageSet) Covers(p ImagePattern) bool {
	switch {
	case p.Version != "":
		_, ok := s.Find(Reference{Name: p.Name, Suffix: p.Version})
		return ok
	case p.Beneath && s.names[p.Name]&coversBeneath != 0:
		return true
	}
	_, ok := s.FindPlace(p.Name)
	return ok
}

// UpToSlash returns the place at or above name that has at most n slashes. A look-up of places with at most n slashes
// can start there.
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
