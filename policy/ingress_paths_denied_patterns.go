package policy

import "github.com/evergate/evergate/internal/text"

// pathsDeniedPatterns is paths.deniedPatterns: it finds each path that one of the regular expressions covers from its
// first character to its last.
type pathsDeniedPatterns []regex

func (c pathsDeniedPatterns) find(ing *Ingress, r *report) {
	paths := r.ingressPaths(ing)
	for i := range paths {
		p := &paths[i]
		for j := range c {
			if !r.spend(c[j].steps(p.Path)) {
				return
			}
			if !c[j].match(p.Path) {
				continue
			}
			if f := r.found(p.identity("paths.deniedPatterns")); f != nil {
				f.Path, f.Reason = p.field("path"), text.Quote(p.Path)+" matches "+c[j].String()+", which is denied"
			}
			break
		}
	}
}
