package policy

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// pathsUnsafeCharacters is paths.unsafeCharacters: it finds each path that holds a character by which it can end its
// place in a controller's configuration and go on as configuration of its own (CVE-2026-24512, kubernetes issue 136678,
// before it CVE-2021-25745, CVE-2021-25748 and CVE-2022-4886). ingress-nginx writes a path into its nginx.conf as
//
//	location /path {          for Prefix, and with = in front for Exact
//	location ~* "^/path" {    for ImplementationSpecific, where one rule of the host asks for regular expressions
//
// The first is ended by white space, { or ; and ; and } go on; # hides the rest of the line; quotes begin a string.
// The second is ended by a quote, and a backslash at the end swallows the quote that should end it: these two are what
// the fix in 1.13.7 and 1.14.3 escapes. Control characters have no place in a path at all.
//
// The dollar sign is not among them: it ends nothing, ingress-nginx escapes it where nginx would expand it, and its
// own example of rewriting is /something(/|$)(.*). What a pattern loses can be written otherwise: [.] for \. and
// [0-9][0-9] for [0-9]{2}. The option strict-validate-path-type of ingress-nginx is stricter for Exact and Prefix
// (letters, digits and -_./ only) but lets everything pass in ImplementationSpecific: see paths.types for that.
type pathsUnsafeCharacters struct{}

func (pathsUnsafeCharacters) find(ing *Ingress, r *report) {
	for at, path := range ing.paths() {
		if strings.ContainsFunc(path.Path, isUnsafeInPath) {
			r.add(at.finding("paths.unsafeCharacters", "path", quoted(path.Path)+" contains "+unsafeIn(path.Path)+
				", which can get out into the controller's configuration (CVE-2026-24512); leave it out"))
		}
	}
}

func isUnsafeInPath(c rune) bool {
	return strings.ContainsRune("\"'\\{};#", c) || unicode.IsSpace(c) || unicode.IsControl(c)
}

// unsafeIn lists the unsafe characters of a path, each once.
func unsafeIn(path string) string {
	var found []string
	for _, c := range path {
		if q := strconv.QuoteRune(c); isUnsafeInPath(c) && !slices.Contains(found, q) {
			found = append(found, q)
		}
	}
	return listing(found)
}
