package policy

import (
	"iter"
	"slices"
	"strings"
)

// deniedImages is images.denied: no image passes that one of the patterns covers, in whichever way it is written. So a
// pattern with a tag covers that tag also when a digest stands behind it, one with a registry also covers the registry's
// default port, 443, written out, docker.io also the other names of Docker Hub, and docker.io/nginx also what it is
// short for, docker.io/library/nginx. What is not an image reference passes: it is at no place.
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

// dockerHub are the hosts that serve what docker.io names.
var dockerHub = []string{"docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"}

// spellings yields a reference and the shorter ones that it can be meant to hide.
func spellings(ref reference) iter.Seq[reference] {
	return func(yield func(reference) bool) {
		tag, _, both := strings.Cut(ref.suffix, "@")
		for _, name := range namesOf(ref) {
			if !yield(reference{name, ref.suffix}) || both && !yield(reference{name, tag}) {
				return
			}
		}
	}
}

// namesOf returns the names under which a policy may know the repository of a reference.
func namesOf(ref reference) []string {
	names := []string{ref.name}
	registry := ref.registry()
	host, path := strings.TrimSuffix(registry, ":443"), ref.name[len(registry):]
	if slices.Contains(dockerHub, host) {
		host = "docker.io"
	}
	if host != registry {
		names = append(names, host+path)
	}
	if official, ok := strings.CutPrefix(host+path, "docker.io/library/"); ok {
		names = append(names, "docker.io/"+official)
	}
	return names
}
