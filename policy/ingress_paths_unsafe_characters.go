package policy

import (
	"strings"
	"unicode"

	"github.com/evergate/evergate/internal/text"
)

// pathsUnsafeCharacters is paths.unsafeCharacters: it finds each path that holds a character by which it can end its
// place in a controller's configuration and go on as configuration of its own (CVE-2026-24512, kubernetes issue 136678,
// before it CVE-2021-25745, CVE-2021-25748 and CVE-2022-4886). ingress-nginx writes a path into nginx.conf (buildLocation
// in its internal/ingress/controller/template) as
//
//	location /path {          with = in front for Exact
//	location ~* "^/path" {    on a host of which any Ingress asks for regular expressions
//
// The first is ended by white space, { or ; and ; and } go on; # hides the rest of the line; quotes begin a string.
// The second is ended by a quote, and a backslash at the end swallows the quote that should end it. Control characters
// have no place in a path at all.
//
// The dollar sign is not among them: it ends nothing, and ingress-nginx's own example of rewriting needs it:
// /something(/|$)(.*). What a pattern loses can be written otherwise: [.] for \. and [0-9][0-9] for [0-9]{2}.
// The option strict-validate-path-type of ingress-nginx is stricter for Exact and Prefix (letters, digits and -_./
// only) but lets everything pass in ImplementationSpecific: for that there is paths.types.
type pathsUnsafeCharacters struct{}

func (pathsUnsafeCharacters) find(ing *Ingress, r *report) {
	paths := r.ingressPaths(ing)
	for i := range paths {
		p := &paths[i]
		if !r.spend(1 + len(p.Path)/4) { // rune by rune
			return
		}
		if !strings.ContainsFunc(p.Path, isUnsafeInPath) {
			continue
		}
		if f := r.found(p.identity("paths.unsafeCharacters")); f != nil {
			f.Path, f.Reason = p.field("path"), text.Quote(p.Path)+" contains "+unsafeIn(p.Path)+
				", which can get out into the controller's configuration (CVE-2026-24512); leave it out"
		}
	}
}

func isUnsafeInPath(c rune) bool {
	switch c {
	case '"', '\'', '\\', '{', '}', ';', '#':
		return true
	}
	return unicode.IsSpace(c) || unicode.IsControl(c)
}

// unsafeIn lists the unsafe characters of a path, each once, as far as a sentence's worth of the path has them.
func unsafeIn(path string) string {
	const most = 1024 // bytes from the first of them on
	path = path[strings.IndexFunc(path, isUnsafeInPath):]
	path = path[:min(len(path), most)]
	seen := map[rune]bool{}
	var names []string
	for _, c := range path {
		if isUnsafeInPath(c) && !seen[c] {
			seen[c], names = true, append(names, text.QuoteRune(c))
		}
	}
	return text.List(names)
}
