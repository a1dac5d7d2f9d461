package export

import (
	"regexp"
	"slices"
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
		switch {
		case below:
			p.below = append(p.below, place)
		case hasVersion(s):
			p.versions = append(p.versions, s)
		default:
			p.places = append(p.places, s)
		}
	}
	return p
}

// hasVersion reports whether an image pattern has a tag or a digest.
func hasVersion(pattern string) bool {
	last := pattern[strings.LastIndexByte(pattern, '/')+1:]
	return strings.Contains(pattern, "/") && strings.ContainsAny(last, ":@")
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

// hubNames returns the registries that are Docker Hub.
func hubNames() []string {
	return []string{dockerHub, "registry-1.docker.io", "registry.hub.docker.com"}
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
	return allOf(hint(patterns), cel(names, "$hub", set(hubNames()))+".exists(name,"+covers+")")
}

// longestHint is the maximum length of the regular expression of hint. The cost of a match is the product of its
// length and the length of the image. For longer expressions, a lookup of the places costs less.
const longestHint = 80

// hint returns a condition that one of the patterns may cover an image. It looks for the part of a pattern that is
// in the name of every image that the pattern covers. It returns an empty string if the condition would be too long.
func hint(patterns []string) string {
	var parts []string
	for _, p := range patterns {
		name := strings.TrimSuffix(p, "/*")
		if hasVersion(p) {
			last := strings.LastIndexByte(name, '/') + 1
			name = name[:last+strings.IndexAny(name[last:]+":", ":@")]
		}
		registry, path, _ := strings.Cut(name, "/")
		if slices.Contains(hubNames(), registry) {
			name = strings.TrimPrefix(path, "library/")
		}
		if name == "" || name == "library" { // everything on Docker Hub, or its official images
			return ""
		}
		parts = append(parts, regexp.QuoteMeta(name))
	}
	regex := strings.Join(parts, "|")
	if len(regex) > longestHint {
		return ""
	}
	return "image.name.matches(" + str(regex) + ")"
}
