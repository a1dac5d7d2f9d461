package policy

// annotationsDenied is annotations.denied: it finds each annotation whose key one of the patterns covers.
type annotationsDenied struct{ keys []glob }

func (c annotationsDenied) find(m *Meta, r *report) {
	for _, key := range offendingKeys(m.Annotations, func(key, _ string) bool {
		_, denied := matchAny(c.keys, key)
		return denied
	}) {
		g, _ := matchAny(c.keys, key)
		r.add(annotationFinding("annotations.denied", key, m.Annotations[key], "is denied by "+string(g)+"; remove it"))
	}
}
