package policy

// annotationsRequired is annotations.required: it finds each annotation that is missing, or whose value the regular
// expression of its requirement does not cover.
type annotationsRequired struct{ requirements []annotationRequirement }

func (c annotationsRequired) find(m *Meta, r *report) {
	for i := range c.requirements {
		if f, unmet := c.requirements[i].unmet(m); unmet {
			f.Check = "annotations.required"
			r.add(f)
		}
	}
}

// unmet says whether m lacks what is required, and what is to be told then; the caller names the check.
func (q *annotationRequirement) unmet(m *Meta) (f Finding, unmet bool) {
	key := string(q.Key)
	value, set := m.Annotations[key]
	switch {
	case !set && q.Value == nil:
		return Finding{Path: annotationPath(key), Value: key, Reason: "is required; set it"}, true
	case !set:
		reason := "is required; set it to a value that matches " + q.Value.String()
		return Finding{Path: annotationPath(key), Value: key, Reason: reason}, true
	case q.Value != nil && !q.Value.match(value):
		return annotationFinding("", key, value, quoted(value)+" does not match "+q.Value.String()), true
	}
	return Finding{}, false
}
