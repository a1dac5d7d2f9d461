package review

import (
	"bytes"
	"slices"

	"github.com/evergate/evergate/internal/jsonscan"
)

// Unchanged reports whether a review is of an update that changes nothing that is ever evaluated: all fields of the
// object but those of isBookkeeping are, byte by byte, what they were. The API server writes both objects in the same
// way. It reads no object, so that the finalizers of one that cannot be judged can be removed.
func Unchanged(body []byte) bool {
	if isCreation(body) { // most reviews, and then nothing need be read
		return false
	}
	r := jsonscan.New(body, limits())
	var object, old fields
	objects := 0
	for name := range r.Members {
		if string(name) != "request" {
			continue
		}
		for name := range r.Members {
			switch string(name) {
			case "object":
				objects++
				object.read(r)
			case "oldObject":
				objects++
				old.read(r)
			}
		}
	}
	return r.End() == nil && objects == 2 && object.equal(&old)
}

// isCreation reports whether oldObject is null, as in all reviews but those of updates. The API server writes it behind
// the object, so that it stands near the end.
func isCreation(body []byte) bool {
	const tail = 4 << 10
	return bytes.Contains(body[max(0, len(body)-tail):], []byte(`"oldObject":null`))
}

// isBookkeeping reports whether a field of metadata is one that no rule, no selector and no report reads, and that
// changes while an object is deleted. A test tries all others.
func isBookkeeping(name string) bool {
	switch name {
	case "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generation", "managedFields", "resourceVersion":
		return true
	}
	return false
}

// maxFields is how many fields an object and its metadata may have together: those of Kubernetes have some 30.
const maxFields = 100

// fields are those of an object and of its metadata, in the order of the text, but for those of isBookkeeping.
type fields struct {
	all        []field
	undecided  bool // a field stands twice, and readers disagree on which counts, or there are more than maxFields
	inMetadata bool // a field metadata has been read
}

type field struct {
	name       string
	ofMetadata bool
	text       []byte
}

func (f *fields) equal(g *fields) bool {
	return len(f.all) > 0 && !f.undecided && !g.undecided && slices.EqualFunc(f.all, g.all, func(a, b field) bool {
		return a.name == b.name && a.ofMetadata == b.ofMetadata && bytes.Equal(a.text, b.text)
	})
}

func (f *fields) read(r *jsonscan.Reader) {
	for name := range r.Members {
		if string(name) != "metadata" {
			f.add(r, field{name: string(name)})
			continue
		}
		f.undecided = f.undecided || f.inMetadata
		f.inMetadata = true
		for name := range r.Members {
			if !isBookkeeping(string(name)) {
				f.add(r, field{name: string(name), ofMetadata: true})
			}
		}
	}
}

// add reads a field.
func (f *fields) add(r *jsonscan.Reader, of field) {
	same := func(g field) bool { return g.name == of.name && g.ofMetadata == of.ofMetadata }
	if len(f.all) == maxFields || slices.ContainsFunc(f.all, same) {
		f.undecided = true
		return
	}
	of.text = r.Raw()
	f.all = append(f.all, of)
}
