package policy

import "encoding/json"

// OriginalsAnnotation is the Pod annotation that records, for people, what rewritten images were written as: a JSON
// object from the place of each image, such as containers/app, to the image. Nothing is ever decided by it, since
// anybody may write it.
const OriginalsAnnotation = "evergate.dev/original-images"

const (
	// maxAnnotations is what the API server allows for keys and values of all annotations of an object together
	// (TotalAnnotationSizeLimitB in k8s.io/apimachinery/pkg/api/validation). The record must never be what makes it
	// refuse a Pod.
	maxAnnotations = 256 << 10
	// maxRecord is the largest record, in bytes: hundreds of images, and a quarter of the room for annotations. A record
	// that would be larger is left out, for half a record would be read as a whole one.
	maxRecord = 64 << 10
)

// record returns the record of what the images of a Pod are rewritten from; empty when it has no room. Of the record
// that the Pod carries already, from an earlier round of the same request or from its creation, it keeps what can be
// verified: that the recorded image, rewritten, is the image that stands there.
func (t *mirrorTable) record(pod *Pod, s *subject, images []ImageOutcome) string {
	earlier := parseRecord(pod.Annotations[OriginalsAnnotation])
	originals := make(map[string]string, len(images))
	for i := range images {
		out := &images[i]
		key := out.Image.Place.String() + "/" + out.Image.Name
		if out.Outcome == Rewritten {
			originals[key] = out.Image.Ref
		} else if original, ok := earlier[key]; ok && t.leads(original, out.Image.Ref, s) {
			originals[key] = original
		}
	}
	text, err := json.Marshal(originals) // sorts the keys
	if err != nil || len(text) > min(maxRecord, maxAnnotations-annotationBytes(pod)) {
		return ""
	}
	return string(text)
}

// parseRecord reads a record; what is not one gives none.
func parseRecord(text string) map[string]string {
	var originals map[string]string
	if len(text) > maxRecord || json.Unmarshal([]byte(text), &originals) != nil {
		return nil
	}
	return originals
}

// leads tells whether an original is rewritten to exactly this image.
func (t *mirrorTable) leads(original, image string, s *subject) bool {
	ref, err := parseReference(original)
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
