package policy

import "slices"

// pathsTypes is paths.types: it finds each path whose type is not in the list. What offends is the type together with
// the path, so that an old path of a denied type makes no room for another one.
type pathsTypes struct {
	allowed []pathType
	passing string // the end of its sentences
}

func (c pathsTypes) find(ing *Ingress, r *report) {
	for at, path := range ing.paths() {
		if slices.Contains(c.allowed, pathType(path.Type)) {
			continue
		}
		reason := "no type is set"
		if path.Type != "" {
			reason = quoted(path.Type) + " is not allowed"
		}
		f := at.finding("paths.types", "pathType", reason+c.passing)
		f.Value = path.Type + " " + f.Value
		r.add(f)
	}
}
