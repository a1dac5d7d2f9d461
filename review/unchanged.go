package review

import (
	"bytes"

	"github.com/evergate/evergate/internal/jsonscan"
)

// Unchanged reports whether a review is of an update that changes nothing that could be judged: labels and annotations,
// spec and status are, byte by byte, what they were. The API server writes both objects in the same way. It reads no
// object, so that the finalizers of one that cannot be judged can be removed.
func Unchanged(body []byte) bool {
	if isCreation(body) { // most reviews, and then nothing need be read
		return false
	}
	r := jsonscan.New(body, limits())
	var object, old judged
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
	return r.End() == nil && objects == 2 && object.found && object.equal(&old)
}

// isCreation reports whether oldObject is null, as in all reviews but those of updates. The API server writes it behind
// the object, so that it stands near the end.
func isCreation(body []byte) bool {
	const tail = 4 << 10
	return bytes.Contains(body[max(0, len(body)-tail):], []byte(`"oldObject":null`))
}

// judged are the parts of an object that can be judged, as they stand in the text.
type judged struct {
	labels, annotations, spec, status []byte
	found, twice                      bool
}

func (j *judged) equal(k *judged) bool {
	return j.found == k.found && !j.twice && !k.twice && bytes.Equal(j.labels, k.labels) &&
		bytes.Equal(j.annotations, k.annotations) && bytes.Equal(j.spec, k.spec) && bytes.Equal(j.status, k.status)
}

func (j *judged) read(r *jsonscan.Reader) {
	metadata := false
	for name := range r.Members {
		switch string(name) {
		case "metadata":
			j.twice = j.twice || metadata
			metadata = true
			for name := range r.Members {
				switch string(name) {
				case "labels":
					j.part(r, &j.labels)
				case "annotations":
					j.part(r, &j.annotations)
				}
			}
		case "spec":
			j.part(r, &j.spec)
		case "status":
			j.part(r, &j.status)
		}
	}
}

// part reads a part, which must not stand twice: which of the two counts?
func (j *judged) part(r *jsonscan.Reader, part *[]byte) {
	j.twice = j.twice || *part != nil
	*part = r.Raw()
	j.found = true
}
