package policy

// Rewriting says for every image of a Pod what becomes of it.
type Rewriting struct {
	Images []ImageOutcome // one for each element of Pod.Images, in the same order

	// Record is the new value of the annotation OriginalsAnnotation. It is empty when no image is to be replaced, and
	// when it would not fit into the Pod's annotations: then none is to be written.
	Record string
}

// Changes says whether any image is to be replaced.
func (r Rewriting) Changes() bool {
	for i := range r.Images {
		if r.Images[i].Outcome == Rewritten {
			return true
		}
	}
	return false
}

// RewritePod says for every image of pod which mirror it is pulled from. old is the Pod before an update, nil
// otherwise: only images that the update changes are rewritten, since a running Pod is not to be touched by a policy
// that is younger than it.
func (p *Policy) RewritePod(a Attributes, pod, old *Pod) Rewriting {
	rw := Rewriting{Images: make([]ImageOutcome, len(pod.Images))}
	s := newSubject(a, &pod.Meta)
	concerned, before := touches(a, pod), newPlaces(old)
	for i, img := range pod.Images {
		out := &rw.Images[i]
		if !concerned {
			out.Outcome = Ignored
		} else if before.has(img) {
			out.Outcome = Unchanged
		} else if ref, err := parseReference(img.Ref); err != nil {
			out.Outcome, out.Detail = Malformed, err.Error()
		} else {
			*out = p.mirrors.decide(ref, &s)
		}
		out.Image = img
	}
	if rw.Changes() {
		rw.Record = p.mirrors.record(pod, &s, rw.Images)
	}
	return rw
}

// places are the images of a Pod by where they stand. Containers go by their names, because a list may be reordered.
type places map[imageKey]string

type imageKey struct {
	place Place
	name  string
}

// newPlaces files the images of the Pod before an update; nil gives none.
func newPlaces(old *Pod) places {
	if old == nil {
		return nil
	}
	ps := make(places, len(old.Images))
	for _, img := range old.Images {
		ps[imageKey{img.Place, img.Name}] = img.Ref
	}
	return ps
}

// has tells whether the same image stood in the same place.
func (ps places) has(img Image) bool {
	ref, ok := ps[imageKey{img.Place, img.Name}]
	return ok && ref == img.Ref
}
