package review

import (
	"bytes"

	"github.com/evergate/evergate/internal/jsonscan"
)

// Unchanged reports whether a review is of an update that changes nothing that could be judged: labels and annotations,
// spec and status are, byte by byte, what they were. The API server writes both objects in the same way. It needs no
// object to be read, so that the finalizers of one that cannot be judged can be removed.
func Unchanged(body []byte) bool {
	if !hasOld(body) { // most reviews, and then nothing need be read
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

// hasOld reports whether an object may stand at oldObject, which all but updates have as null. A text that holds that name
// elsewhere counts as well. The API server writes it behind the object, so that null stands near the end.
func hasOld(body []byte) bool {
	const name, tail = `"oldObject"`, 4 << 10
	if bytes.Contains(body[max(0, len(body)-tail):], []byte(name+":null")) {
		return false
	}
	for {
		i := bytes.Index(body, []byte(name))
		if i < 0 {
			return false
		}
		body = bytes.TrimLeft(body[i+len(name):], " \t\r\n:")
		if len(body) > 0 && body[0] == '{' {
			return true
		}
	}
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
