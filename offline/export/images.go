package export

import (
	"regexp"
	"slices"
	"strings"
)

// covers returns an expression for the keys of the patterns that cover the image x, the narrowest first. It does the
// same as NewImageSet and Find in policy/internal/match. patterns is the list of patterns.
func covers(patterns []string, name, version string) string {
	keys := placesIn(patterns, name)
	if slices.ContainsFunc(patterns, hasVersion) {
		keys = "[" + name + "+" + version + "]+" + keys
	}
	return keys
}

// placesIn returns an expression for the places of a name in the syntax of patterns.
func placesIn(patterns []string, name string) string {
	if !slices.ContainsFunc(patterns, func(p string) bool { return strings.HasSuffix(p, "/*") }) {
		return places(name)
	}
	// A pattern for the images below a name does not cover the name itself.
	return places(name) + ".map(a,a==" + name + "?[a]:[a,a+'/*']).flatten()"
}

// hasVersion reports whether an image pattern has a tag or a digest.
func hasVersion(pattern string) bool {
	last := pattern[strings.LastIndexByte(pattern, '/')+1:]
	return strings.Contains(pattern, "/") && strings.ContainsAny(last, ":@")
}

// effective is an expression for the digest of the image x, or for its tag if it does not have a digest.
const effective = "x.version.substring(x.version.contains('@')?x.version.indexOf('@'):0)"

// isCovered returns a condition that one of the patterns covers the image x.
func isCovered(patterns []string) string {
	if len(patterns) == 0 {
		return "false"
	}
	return bind("m", set(patterns), "("+covers(patterns, "x.name", effective)+").exists(k,k in m)")
}

// longestHint is the maximum length of the regular expression of hint. The cost of a match is the product of its
// length and the length of the image. For longer expressions, a lookup of the places costs less.
const longestHint = 80

// hint returns a condition that one of the patterns may cover the image x. It looks for the part of a pattern that is
// in the name of every image that the pattern covers. It returns an empty string if the condition would be too long.
func hint(patterns []string) string {
	var parts []string
	for _, p := range patterns {
		name := strings.TrimSuffix(p, "/*")
		if at := strings.IndexAny(name[strings.LastIndexByte(name, '/')+1:], ":@"); at >= 0 && hasVersion(p) {
			name = name[:strings.LastIndexByte(name, '/')+1+at]
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
	return "x.name.matches(" + str(regex) + ")"
}

// hubNames returns the registries that are Docker Hub.
func hubNames() []string {
	return []string{dockerHub, "registry-1.docker.io", "registry.hub.docker.com"}
}

// deniedBy returns an expression for the patterns that cover the image x in any spelling: under each name that its
// repository has on Docker Hub, by its digest, by its tag (even if it also has a digest), or by its place.
func deniedBy(patterns []string) string {
	keys := placesIn(patterns, "n")
	if slices.ContainsFunc(patterns, hasVersion) {
		tag := "x.version.find('^[^@]*')"
		keys = "[n+x.version.substring(size(" + tag + ")),n+" + tag + "].filter(k,k!=n)+" + keys
	}
	names := "[x.name]+" + bind("r", "x.name.find('^[^/]*')",
		"r in "+set(hubNames())+"?"+
			bind("p", "x.name.substring(size(r))", "(r=='docker.io'?[]:['docker.io'+p])+"+
				"(p.startsWith('/library/')?['docker.io'+p.substring(8)]:[])")+":[]")
	return bind("m", set(patterns), "("+names+").map(n,"+keys+").flatten().filter(k,k in m)")
}

// tag is an expression for the tag of the image x. It is latest if x has neither tag nor digest.
const tag = "(x.version==''?'latest':x.version.startsWith(':')?x.version.find('^:[^@]*').substring(1):'')"
