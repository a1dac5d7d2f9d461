package policy

import (
	"iter"
	"strings"
)

// deniedImages is images.denied: no image passes that one of the patterns covers, in whichever way it is written. So a
// pattern with a tag covers that tag also when a digest stands behind it, and one with a registry also covers the
// registry's default port, 443, written out. What is not an image reference passes: it is at no place.
type deniedImages struct{ denied imageSet }

func (c deniedImages) id() string { return "images.denied" }

func (c deniedImages) fault(img *judgedImage, _ *subject) string {
	for ref := range spellings(img.ref) {
		if p, ok := c.denied.find(ref); ok {
			return "is denied by " + p.String()
		}
	}
	return ""
}

// spellings yields a reference and the shorter ones that it can be meant to hide.
func spellings(ref reference) iter.Seq[reference] {
	return func(yield func(reference) bool) {
		names := []string{ref.name}
		registry := ref.registry()
		if host, ok := strings.CutSuffix(registry, ":443"); ok {
			names = append(names, host+ref.name[len(registry):])
		}
		tag, _, both := strings.Cut(ref.suffix, "@")
		for _, name := range names {
			if !yield(reference{name, ref.suffix}) || both && !yield(reference{name, tag}) {
				return
			}
		}
	}
}
