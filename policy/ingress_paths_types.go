package policy

import (
	"slices"

	"github.com/evergate/evergate/internal/text"
)

// pathsTypes is paths.types: it finds each path whose type is not in the list.
type pathsTypes struct {
	allowed []pathType
	passing string // the end of its sentences
}

func (c pathsTypes) find(ing *Ingress, r *report) {
	paths := r.ingressPaths(ing)
	for i := range paths {
		p := &paths[i]
		if !r.spend(1) {
			return
		}
		if slices.Contains(c.allowed, pathType(p.Type)) {
			continue
		}
		if f := r.found(p.identityOfType("paths.types")); f != nil {
			f.Path, f.Reason = p.field("pathType"), "no type is set"+c.passing
			if p.Type != "" {
				f.Reason = text.Quote(p.Type) + " is not allowed" + c.passing
			}
		}
	}
}
