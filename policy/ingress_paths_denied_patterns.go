package policy

// pathsDeniedPatterns is paths.deniedPatterns: it finds each path that one of the regular expressions covers from its
// first character to its last.
type pathsDeniedPatterns []regex

func (c pathsDeniedPatterns) find(ing *Ingress, r *report) {
	for at, path := range ing.paths() {
		for i := range c {
			if c[i].match(path.Path) {
				r.add(at.finding("paths.deniedPatterns", "path", quoted(path.Path)+" matches "+c[i].String()+", which is denied"))
				break
			}
		}
	}
}
