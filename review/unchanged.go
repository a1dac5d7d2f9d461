package review

import (
	"bytes"
	"slices"

	"github.com/evergate/evergate/internal/jsonscan"
)

// Unchanged reports whether a review is an update that does not change anything that is ever evaluated: all of its
// fields except the bookkeeping fields are the same, byte for byte. The API server encodes both objects in the same
// way. Unchanged does not interpret the objects, so finalizers can be removed from an object that cannot be evaluated.
func Unchanged(body []byte) bool {
	if isCreation(body) { // most reviews; the objects do not have to be read
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

// isCreation reports whether oldObject is null, as in all reviews except updates. The API server writes it after the
// object, so it is near the end.
func isCreation(body []byte) bool {
	const tail = 4 << 10
	return bytes.Contains(body[max(0, len(body)-tail):], []byte(`"oldObject":null`))
}

// isBookkeeping reports whether a field of metadata is not read by any rule, selector or report, and changes while an
// object is deleted. A test tries all other fields.
func isBookkeeping(name string) bool {
	switch name {
	case "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generation", "managedFields", "resourceVersion":
		return true
	}
	return false
}

// maxFields is the maximum number of fields in an object and its metadata together. Kubernetes' objects have about 30.
const maxFields = 100

// fields contains an object's fields and the fields in its metadata, in the order of the text, without bookkeeping
// fields.
type fields struct {
	all        []field
	undecided  bool // a field is set twice, and readers disagree on which counts, or there are more than maxFields
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
