package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
)

// OriginalsAnnotation is the Pod annotation that records, for people, what rewritten images were written as: a JSON
// object from the place of each image, such as containers/app, to the image. Nothing is ever decided by it, since
// anybody may write it.
const OriginalsAnnotation = "evergate.dev/original-images"

const (
	// maxAnnotations is what the API server allows for keys and values of all annotations of an object together
	// (TotalAnnotationSizeLimitB in k8s.io/apimachinery/pkg/api/validation). The record must never be what makes it
	// refuse a Pod.
	maxAnnotations = 256 << 10
	// maxRecord is the largest record, in bytes: some two hundred images. A record that would be larger is left out, for
	// half a record would be read as a whole one.
	maxRecord = 16 << 10
)

// record returns the record of what the images of a Pod are rewritten from; empty when it has no room. Of the record
// that the Pod carries already, from an earlier round of the same request or from its creation, it keeps what can be
// verified: that the recorded image, rewritten, is the image that stands there.
func (t *mirrorTable) record(pod *Pod, s *subject, images []ImageOutcome) string {
	earlier := parseRecord(pod.Annotations[OriginalsAnnotation])
	originals := make([]original, 0, len(images))
	for i := range images {
		out := &images[i]
		place, name := out.Image.Place.String(), out.Image.Name
		if out.Outcome == Rewritten {
			originals = append(originals, original{place, name, out.Image.Ref})
		} else if ref, ok := earlier[place+"/"+name]; ok && t.rewritesTo(ref, out.Image.Ref, s) {
			originals = append(originals, original{place, name, ref})
		}
	}
	return encodeRecord(originals, min(maxRecord, maxAnnotations-annotationBytes(pod)))
}

// original is one field of a record, whose key is made of a place and a name.
type original struct{ place, name, ref string }

// compare puts keys in order: of two places none begins with the other.
func (o original) compare(p original) int {
	if order := strings.Compare(o.place, p.place); order != 0 {
		return order
	}
	return strings.Compare(o.name, p.name)
}

// encodeRecord writes a record with its keys in order, or returns nothing where it would be longer than room. Of two images in one place, which the API server refuses, the last
// counts. It is written by hand since every Pod that is rewritten pays for it: encoding/json, from a map, takes ten allocations more.
func encodeRecord(originals []original, room int) string {
	slices.SortStableFunc(originals, original.compare)
	size := len("{}")
	for _, o := range originals {
		size += len(`"/":"",`) + len(o.place) + len(o.name) + len(o.ref)
	}
	if size-len(`,`) > room { // before anything is escaped: a name may be as long as a request
		return ""
	}
	var text strings.Builder
	text.Grow(size)
	text.WriteByte('{')
	for i, o := range originals {
		if i+1 < len(originals) && originals[i+1].compare(o) == 0 {
			continue
		}
		if text.Len() > 1 {
			text.WriteByte(',')
		}
		text.WriteByte('"')
		text.WriteString(o.place)
		text.WriteByte('/')
		writeJSON(&text, o.name)
		text.WriteString(`":"`)
		writeJSON(&text, o.ref)
		text.WriteByte('"')
	}
	text.WriteByte('}')
	if text.Len() > room {
		return ""
	}
	return text.String()
}

// writeJSON writes what encoding/json has between the quotes of a string.
func writeJSON(text *strings.Builder, s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // of a string it always succeeds
			text.Write(quoted[1 : len(quoted)-1])
			return
		}
	}
	text.WriteString(s)
}

// parseRecord reads a record; what is not one gives none.
func parseRecord(text string) map[string]string {
	if text == "" || len(text) > maxRecord {
		return nil
	}
	var originals map[string]string
	if json.Unmarshal([]byte(text), &originals) != nil {
		return nil
	}
	return originals
}

// leads tells whether an original is rewritten to exactly this image.
func (t *mirrorTable) rewritesTo(original, image string, s *subject) bool {
	ref, err := match.ParseReference(original)
	if err != nil {
		return false
	}
	out := t.decide(ref, s)
	return out.Outcome == Rewritten && out.To == image
}

// annotationBytes counts a Pod's annotations as the API server does, with an empty record among them.
func annotationBytes(pod *Pod) int {
	n := len(OriginalsAnnotation)
	for k, v := range pod.Annotations {
		if k != OriginalsAnnotation {
			n += len(k) + len(v)
		}
	}
	return n
}
