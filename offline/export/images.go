package export

import (
	"strings"
)

// imagePatterns are patterns of a policy for images, as in policy/internal/match/image.go.
type imagePatterns struct {
	places   []string // cover the image of that name and all images below it
	below    []string // cover only the images below a name
	versions []string // cover one tag or digest
}

func newImagePatterns(patterns []string) (p imagePatterns) {
	for _, s := range patterns {
		place, below := strings.CutSuffix(s, "/*")
		slash := strings.LastIndexByte(s, '/')
		switch {
		case below:
			p.below = append(p.below, place)
		case slash >= 0 && strings.ContainsAny(s[slash:], ":@"): // otherwise, it is a registry with a port
			p.versions = append(p.versions, s)
		default:
			p.places = append(p.places, s)
		}
	}
	return p
}

// covers returns a condition that the patterns cover an image with a name and one of some versions. name is a variable,
// and each version is an expression.
func (p imagePatterns) covers(name string, versions ...string) string {
	var place, conditions []string
	if len(p.places) > 0 {
		place = append(place, "place in "+set(p.places))
	}
	if len(p.below) > 0 {
		place = append(place, "place!="+name+"&&place in "+set(p.below))
	}
	if len(place) > 0 {
		conditions = append(conditions, places(name)+".exists(place,"+anyOf(place...)+")")
	}
	for _, version := range versions {
		if len(p.versions) > 0 {
			conditions = append(conditions, name+"+"+version+" in "+set(p.versions))
		}
	}
	return anyOf(conditions...)
}

// isCovered returns a condition that one of the patterns covers an image by its digest or, if it does not have a
// digest, by its tag.
func isCovered(patterns []string) string {
	return newImagePatterns(patterns).covers("image.name",
		"image.version.substring(image.version.contains('@')?image.version.indexOf('@'):0)")
}

// isDenied returns a condition that one of the patterns covers an image in any spelling: under each name that its
// repository has on Docker Hub, by its digest, by its tag (even if it also has a digest), or by its place.
func isDenied(patterns []string) string {
	const names = `([image.name]+[image.name.find('^[^/]*')].filter(registry,registry in $hub).map(registry,
		[image.name.substring(size(registry))].map(path,(registry=='docker.io'?[]:['docker.io'+path])+
			(path.startsWith('/library/')?['docker.io'+path.substring(8)]:[]))[0]).flatten())`
	covers := newImagePatterns(patterns).covers("name",
		"image.version.substring(image.version.contains('@')?image.version.indexOf('@'):size(image.version))",
		"image.version.find('^[^@]*')")
	return cel(names, "$hub", set([]string{dockerHub, "registry-1.docker.io", "registry.hub.docker.com"})) +
		".exists(name," + covers + ")"
}
