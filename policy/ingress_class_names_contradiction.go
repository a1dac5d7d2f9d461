package policy

// classNamesContradiction is classNames.contradiction: it finds an Ingress whose annotation names another class than
// its spec. The API server refuses both at once when an Ingress is created, but lets an update add the other.
type classNamesContradiction struct{}

func (classNamesContradiction) find(ing *Ingress, r *report) {
	var first string
	for path, name := range ing.classNames() {
		if first == "" {
			first = name
		} else if name != first {
			r.add(Finding{
				Check:  "classNames.contradiction",
				Path:   path,
				Value:  first + " " + name,
				Reason: quoted(name) + " contradicts " + classField + ", which is " + quoted(first) + "; remove the annotation",
			})
		}
	}
}
