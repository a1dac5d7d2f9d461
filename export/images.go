package export

import (
	"regexp"
	"slices"
	"strings"
)

// covers returns the keys of the patterns that cover the image x, the narrowest first: what NewImageSet and Find of
// policy/internal/match do. patterns is the name of a map of them.
func covers(patterns []string, name, version string) string {
	keys := placesIn(patterns, name)
	if slices.ContainsFunc(patterns, hasVersion) {
		keys = "[" + name + "+" + version + "]+" + keys
	}
	return keys
}

// placesIn returns the places of a name, as patterns name them.
func placesIn(patterns []string, name string) string {
	if !slices.ContainsFunc(patterns, func(p string) bool { return strings.HasSuffix(p, "/*") }) {
		return places(name)
	}
	// Of the name itself, a pattern for what is below it is none.
	return places(name) + ".map(a,a==" + name + "?[a]:[a,a+'/*']).flatten()"
}

// hasVersion reports whether a pattern of images has a tag or a digest.
func hasVersion(pattern string) bool {
	last := pattern[strings.LastIndexByte(pattern, '/')+1:]
	return strings.Contains(pattern, "/") && strings.ContainsAny(last, ":@")
}

// effective returns the digest of the image x, or its tag where there is none.
const effective = "x.version.substring(x.version.contains('@')?x.version.indexOf('@'):0)"

// isCovered returns whether one of the patterns covers the image x.
func isCovered(patterns []string) string {
	if len(patterns) == 0 {
		return "false"
	}
	return bind("m", set(patterns), "("+covers(patterns, "x.name", effective)+").exists(k,k in m)")
}

// longestHint is how many characters the regular expression of hint may have: a match costs the product of its length
// and that of the image, and above this looking the places up costs less.
const longestHint = 80

// hint returns whether one of the patterns may cover the image x, by the part of a pattern that each name of what it
// covers has. It is empty where nothing short says so.
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
		if name == "" || name == "library" { // all of Docker Hub, or its official images
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

// hubNames are the registries that are Docker Hub.
func hubNames() []string {
	return []string{dockerHub, "registry-1.docker.io", "registry.hub.docker.com"}
}

// deniedBy returns the patterns that cover the image x however either is written: under each name that its repository
// has on Docker Hub, by its digest, by its tag also where a digest stands behind it, or by its place.
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

// tag returns the tag of the image x: that of one with neither tag nor digest is latest.
const tag = "(x.version==''?'latest':x.version.startsWith(':')?x.version.find('^:[^@]*').substring(1):'')"
