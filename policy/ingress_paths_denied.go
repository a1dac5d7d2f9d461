package policy

import "strings"

// pathsDenied is paths.denied: it finds each path that contains one of the parts. Upper and lower case make no
// difference: some controllers compare so (ingress-nginx does for regular expressions), and a list that /Admin
// walks around denies little.
type pathsDenied []pathPart

func (c pathsDenied) find(ing *Ingress, r *report) {
	for at, path := range ing.paths() {
		lower := lowerASCII(path.Path)
		for _, part := range c {
			if strings.Contains(lower, string(part)) {
				r.add(at.finding("paths.denied", "path", quoted(path.Path)+" contains "+quoted(string(part))+", which is denied"))
				break
			}
		}
	}
}
