package policy

import "github.com/evergate/evergate/internal/text"

// classNamesContradiction is classNames.contradiction: it finds an Ingress whose annotation names another class than
// its spec. The API server refuses both at once when an Ingress is created, but lets an update add the other.
type classNamesContradiction struct{}

func (classNamesContradiction) find(ing *Ingress, r *report) {
	var first string
	for path, name := range ing.classNames() {
		if first == "" {
			first = name
		} else if name != first {
			r.add(identity{check: "classNames.contradiction", value: first, detail: name}, path,
				text.Quote(name)+" contradicts "+classField+", which is "+text.Quote(first)+"; remove the annotation")
		}
	}
}
