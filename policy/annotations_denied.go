package policy

import "github.com/evergate/evergate/policy/internal/match"

// annotationsDenied is annotations.denied: it finds each annotation whose key one of the patterns covers.
type annotationsDenied struct{ keys []match.Glob }

func (c annotationsDenied) find(m *Meta, r *report) {
	for _, a := range r.sortedAnnotations(m) {
		if !r.spend(stepsOf(len(c.keys), a.key)) {
			return
		}
		g, denied := match.FirstGlob(c.keys, a.key)
		if !denied {
			continue
		}
		if f := r.found(a.identity("annotations.denied")); f != nil {
			f.Path, f.Reason = annotationPath(a.key), "is denied by "+string(g)+"; remove it"
		}
	}
}
