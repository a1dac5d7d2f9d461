package policy

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// pathsDeniedPatterns is paths.deniedPatterns: it finds each path that one of the regular expressions covers from its
// first character to its last.
type pathsDeniedPatterns []match.Regex

func (c pathsDeniedPatterns) find(ing *Ingress, r *report) {
	paths := r.ingressPaths(ing)
	for i := range paths {
		p := &paths[i]
		for j := range c {
			if !r.spend(c[j].Steps(p.Path)) {
				return
			}
			if !c[j].Match(p.Path) {
				continue
			}
			if f := r.found(p.identity("paths.deniedPatterns")); f != nil {
				f.Path, f.Reason = p.field("path"), text.Quote(p.Path)+" matches "+c[j].String()+", which is denied"
			}
			break
		}
	}
}
