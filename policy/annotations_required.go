package policy

import "github.com/evergate/evergate/internal/text"

// annotationsRequired is annotations.required: it finds each annotation that is missing, or whose value the regular
// expression of its requirement does not cover.
type annotationsRequired struct{ requirements []annotationRequirement }

func (c annotationsRequired) find(m *Meta, r *report) {
	for i := range c.requirements {
		if !c.requirements[i].demand("annotations.required", m, r) {
			return
		}
	}
}

// demand adds a finding of a check if m lacks what is required. It returns whether the check may go on.
func (q *annotationRequirement) demand(check string, m *Meta, r *report) bool {
	key := string(q.Key)
	value, set := m.Annotations[key]
	if !r.spend(1) || set && q.Value != nil && !r.spend(q.Value.Steps(value)) {
		return false
	}
	switch {
	case !set:
		if f := r.found(identity{check: check, value: key}); f != nil {
			f.Path, f.Reason = annotationPath(key), "is required; set it"
			if q.Value != nil {
				f.Reason += " to a value that matches " + q.Value.String()
			}
		}
	case q.Value != nil && !q.Value.Match(value):
		if f := r.found(annotation{key, value}.identity(check)); f != nil {
			f.Path, f.Reason = annotationPath(key), text.Quote(value)+" does not match "+q.Value.String()
		}
	}
	return true
}
