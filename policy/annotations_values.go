package policy

// annotationsValues is annotations.values: it finds each annotation whose value is not covered by every regular
// expression that is there for its key. An annotation that is not set passes.
type annotationsValues struct{ values []annotationValue }

func (c annotationsValues) find(m *Meta, r *report) {
	findValues(m, c.values, false, func(key, value string, broken *regex) {
		r.add(annotationFinding("annotations.values", key, value, quoted(value)+" does not match "+broken.String()))
	})
}

// annotationsDeniedValues is annotations.deniedValues: it finds each annotation whose value is covered by any regular
// expression that is there for its key.
type annotationsDeniedValues struct{ values []annotationValue }

func (c annotationsDeniedValues) find(m *Meta, r *report) {
	findValues(m, c.values, true, func(key, value string, denied *regex) {
		r.add(annotationFinding("annotations.deniedValues", key, value,
			quoted(value)+" matches "+denied.String()+", which is denied"))
	})
}

// findValues tells of each annotation for whose key some expression covers the value or, with covers false, does not,
// with the first such expression.
func findValues(m *Meta, values []annotationValue, covers bool, tell func(key, value string, x *regex)) {
	first := func(key, value string) *regex {
		for i := range values {
			if v := &values[i]; v.Key.match(key) && v.Value.match(value) == covers {
				return &v.Value
			}
		}
		return nil
	}
	for _, key := range offendingKeys(m.Annotations, func(key, value string) bool { return first(key, value) != nil }) {
		value := m.Annotations[key]
		tell(key, value, first(key, value))
	}
}
