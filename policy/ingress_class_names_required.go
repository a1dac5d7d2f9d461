package policy

// classNamesRequired is classNames.required: it finds an Ingress that names no class in either place.
type classNamesRequired struct {
	passing string // the end of its sentences
}

func (c classNamesRequired) find(ing *Ingress, r *report) {
	for range ing.classNames() {
		return
	}
	r.add(identity{check: "classNames.required"}, classField, "no class is set"+c.passing)
}
