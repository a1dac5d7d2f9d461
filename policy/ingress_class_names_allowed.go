package policy

// classNamesAllowed is classNames.allowed: it finds each class that no pattern covers, be it in spec.ingressClassName
// or in the annotation.
type classNamesAllowed struct {
	patterns []glob
	passing  string // the end of its sentences
}

func (c classNamesAllowed) find(ing *Ingress, r *report) {
	for path, name := range ing.classNames() {
		if _, ok := matchAny(c.patterns, name); !ok {
			r.add(Finding{
				Check:  "classNames.allowed",
				Path:   path,
				Value:  name,
				Reason: quoted(name) + " is not allowed" + c.passing,
			})
		}
	}
}
