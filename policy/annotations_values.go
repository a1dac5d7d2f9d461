package policy

import (
	"iter"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// annotationsValues is annotations.values: it finds each annotation whose value is not covered by every regular
// expression that is there for its key. An annotation that is not set passes.
type annotationsValues struct{ values []annotationValue }

func (c annotationsValues) find(m *Meta, r *report) {
	for a, broken := range r.matching(m, c.values, false) {
		if f := r.found(a.identity("annotations.values")); f != nil {
			f.Path, f.Reason = annotationPath(a.key), text.Quote(a.value)+" does not match "+broken.String()
		}
	}
}

// annotationsDeniedValues is annotations.deniedValues: it finds each annotation whose value is covered by any regular
// expression that is there for its key.
type annotationsDeniedValues struct{ values []annotationValue }

func (c annotationsDeniedValues) find(m *Meta, r *report) {
	for a, denied := range r.matching(m, c.values, true) {
		if f := r.found(a.identity("annotations.deniedValues")); f != nil {
			f.Path = annotationPath(a.key)
			f.Reason = text.Quote(a.value) + " matches " + denied.String() + ", which is denied"
		}
	}
}

// matching yields each annotation for whose key some expression covers the value or, with covers false, does not, with
// the first such expression.
func (r *report) matching(m *Meta, values []annotationValue, covers bool) iter.Seq2[annotation, *match.Regex] {
	return func(yield func(annotation, *match.Regex) bool) {
		for _, a := range r.sortedAnnotations(m) {
			for i := range values {
				v := &values[i]
				if !r.spend(stepsOf(1, a.key)) {
					return
				}
				if !v.Key.Match(a.key) {
					continue
				}
				if !r.spend(v.Value.Steps(a.value)) {
					return
				}
				if v.Value.Match(a.value) == covers {
					if !yield(a, &v.Value) {
						return
					}
					break
				}
			}
		}
	}
}
