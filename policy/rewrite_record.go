package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
)

// OriginalsAnnotation is the Pod annotation that records the original images of rewritten ones, for users: a JSON
// object from the place of each image, such as containers/app, to the image. No decision depends on it, since tenants
// may write it.
const OriginalsAnnotation = "evergate.dev/original-images"

const (
	// maxAnnotations is what the API server allows for keys and values of all annotations of an object together
	// (TotalAnnotationSizeLimitB in k8s.io/apimachinery/pkg/api/validation), in bytes. The record must not exceed it,
	// since the API server would reject the Pod.
	maxAnnotations = 256 << 10
	// maxRecord is the largest record, in bytes: some two hundred images. A larger record is omitted, since readers
	// would take a part of it for the whole.
	maxRecord = 16 << 10
)

// record returns the record of the original images of a Pod; empty where it has no room. Of the record that the Pod
// already has, from an earlier review of the same request or from its creation, it keeps what it can verify: entries
// whose image is rewritten to the Pod's image.
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

// original is one field of a record: the original image of a container. Its key is place/name.
type original struct{ place, name, ref string }

// compare compares two keys. No place is a prefix of another one, so that comparing the parts suffices.
func (o original) compare(p original) int {
	if order := strings.Compare(o.place, p.place); order != 0 {
		return order
	}
	return strings.Compare(o.name, p.name)
}

// encodeRecord returns a record with sorted keys; empty where it would be longer than room bytes. Of two images in one
// place, which the API server rejects, it has the last. It does not use encoding/json, which takes ten allocations more
// for each Pod that is rewritten.
func encodeRecord(originals []original, room int) string {
	slices.SortStableFunc(originals, original.compare)
	size := len("{}")
	for _, o := range originals {
		size += len(`"/":"",`) + len(o.place) + len(o.name) + len(o.ref)
	}
	if size-len(`,`) > room { // before escaping, since a name may be as long as a request
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

// writeJSON writes a string as encoding/json does, without the quotes.
func writeJSON(text *strings.Builder, s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string never fails
			text.Write(quoted[1 : len(quoted)-1])
			return
		}
	}
	text.WriteString(s)
}

// parseRecord parses a record; nil for other texts.
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

// rewritesTo reports whether an original image is rewritten to exactly this image.
func (t *mirrorTable) rewritesTo(original, image string, s *subject) bool {
	ref, err := match.ParseReference(original)
	if err != nil {
		return false
	}
	out := t.decide(ref, s)
	return out.Outcome == Rewritten && out.To == image
}

// annotationBytes returns the size of a Pod's annotations as the API server counts it, with an empty record.
func annotationBytes(pod *Pod) int {
	n := len(OriginalsAnnotation)
	for k, v := range pod.Annotations {
		if k != OriginalsAnnotation {
			n += len(k) + len(v)
		}
	}
	return n
}
