package mirror

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

const (
	// maxAnnotations is the API server's limit for the total size of an object's annotations, keys and values together,
	// in bytes (TotalAnnotationSizeLimitB in k8s.io/apimachinery/pkg/api/validation). The API server rejects Pods above
	// the limit, so the record must not exceed it.
	maxAnnotations = 256 << 10
	// maxRecord is the largest record, in bytes. It has room for about 200 images. A larger record is omitted, because
	// readers would mistake a part of it for the whole record.
	maxRecord = 16 << 10
)

// Record returns the record of a Pod's original images. It returns an empty string if the record does not fit. The Pod
// may already have a record, from an earlier review of the same request or from its creation. record keeps the entries
// of that record that it can verify: their original image is rewritten to the Pod's image.
func (t *Table) Record(pod *object.Pod, s *rule.Subject, images []ImageOutcome) string {
	earlier := parseRecord(pod.Annotations[object.OriginalsAnnotation])
	originals := make([]original, 0, len(images))
	most := maxAnnotations - len(object.OriginalsAnnotation)
	for k, v := range pod.Annotations {
		if k != object.OriginalsAnnotation {
			most -= len(k) + len(v)
		}
	}
	most = min(most, maxRecord)
	room := most - len("{}")
	for i := range images {
		img, rewritten := &images[i].Image, images[i].Outcome == Rewritten
		if len(img.Name) > room { // before it is copied, because a name can be as long as a request
			return ""
		}
		o := original{img.Place.String() + "/", img.Name, img.Ref}
		if !rewritten {
			if o.image = earlier[o.place+o.name]; o.image == "" || !t.rewritesTo(o.image, img.Ref, s) {
				continue
			}
		}
		originals = append(originals, o)
		if room -= len(`"":"",`) + len(o.place) + len(o.name) + len(o.image); room < -len(`,`) {
			return ""
		}
	}
	slices.SortStableFunc(originals, original.compare)
	var key []byte
	text := append(make([]byte, 0, most-room+len("{}")), '{')
	for i, o := range originals {
		if i > 0 {
			text = append(text, ',')
		}
		key = append(append(key[:0], o.place...), o.name...)
		text, _ = jsontext.AppendQuote(text, key) // the error reports invalid UTF-8, which is replaced
		text, _ = jsontext.AppendQuote(append(text, ':'), o.image)
	}
	text = append(text, '}')
	if len(text) > most { // escaped characters take more bytes than were counted
		return ""
	}
	return string(text)
}

// original is an entry of the record: a place and its original image.
type original struct {
	place string // containers/
	name  string
	image string
}

// compare compares the keys of the record. No place is a prefix of another place.
func (o original) compare(p original) int {
	return cmp.Or(strings.Compare(o.place, p.place), strings.Compare(o.name, p.name))
}

// parseRecord parses a record. It returns nil if text is not a valid record.
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

// Recorded returns a copy of a Pod with the original images from its record and without the record. An entry of the
// record counts only if one of the tables rewrites the original image to the Pod's current image. stale is the number
// of entries that do not count. If the Pod does not have a valid record, recorded returns p itself.
func Recorded(p *object.Pod, s *rule.Subject, by []*Table) (pod *object.Pod, stale int) {
	originals := parseRecord(p.Annotations[object.OriginalsAnnotation])
	if len(originals) == 0 {
		return p, 0
	}
	valid := 0
	before := *p
	before.Images, before.Annotations = slices.Clone(p.Images), maps.Clone(p.Annotations)
	delete(before.Annotations, object.OriginalsAnnotation)
	for i := range before.Images {
		img := &before.Images[i]
		if len(img.Name) > maxRecord { // before it is copied; the record cannot contain such a name
			continue
		}
		image, ok := originals[img.Place.String()+"/"+img.Name]
		if ok && slices.ContainsFunc(by, func(t *Table) bool { return t.leadsTo(image, img.Ref, s) }) {
			img.Ref = image
			valid++
		}
	}
	return &before, max(0, len(originals)-valid)
}

// leadsTo reports whether an entry, in any mode, rewrites an original image to this image.
func (t *Table) leadsTo(original, image string, s *rule.Subject) bool {
	ref, err := match.ParseReference(original, t.ShortNames)
	return err == nil && t.Decide(ref, s).To == image
}

// rewritesTo reports whether an original image is rewritten to exactly this image.
func (t *Table) rewritesTo(original, image string, s *rule.Subject) bool {
	ref, err := match.ParseReference(original, t.ShortNames)
	if err != nil {
		return false
	}
	out := t.Decide(ref, s)
	return out.Outcome == Rewritten && out.To == image
}
