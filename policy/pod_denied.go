package policy

import (
	"slices"
	"strings"
)

// deniedImages is images.denied: no image passes that one of the patterns covers, in whichever way it is written. So a
// pattern with a tag covers that tag also when a digest stands behind it, one of docker.io also the other names of
// Docker Hub, and docker.io/nginx also what it is short for, docker.io/library/nginx. What is not an image reference
// does not pass: where it is pulled from is for the runtime to say.
//
// An image that is written for a mirror is judged by where it is pulled from. One that is about to be rewritten is
// asked about as it was written: see originals.
type deniedImages struct{ denied imageSet }

func (c deniedImages) id() string { return "images.denied" }

func (deniedImages) steps(*judgedImage) int { return 0 }

func (c deniedImages) passes(img *judgedImage, _ *subject) bool {
	_, denied := c.by(img)
	return img.err == nil && !denied
}

func (c deniedImages) fault(img *judgedImage, _ *subject) string {
	if img.err != nil {
		return img.malformed("counts as denied")
	}
	p, _ := c.by(img)
	return "is denied by " + p.String()
}

// by returns the pattern that denies an image.
func (c deniedImages) by(img *judgedImage) (imagePattern, bool) {
	for name := range img.ref.names {
		if p, ok := c.denied.findVersion(name, img.ref.suffix); ok {
			return p, true
		}
		if p, ok := c.denied.findPlace(name); ok {
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

// names yields the names under which a policy may know the repository of a reference.
func (r reference) names(yield func(string) bool) {
	registry := r.registry()
	if !yield(r.name) || !slices.Contains(dockerHub, registry) {
		return
	}
	path := r.name[len(registry):]
	if registry != dockerHub[0] && !yield(dockerHub[0]+path) {
		return
	}
	if official, ok := strings.CutPrefix(path, "/library/"); ok {
		yield(dockerHub[0] + "/" + official)
	}
}
