package policy

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// fromMirrors is images.from: mirrors. An image passes when
//
//   - it stands at the mirror of an entry in force, whatever the entry's mode or match: the content is the mirror's; or
//   - the entry that covers it excludes it, by images, namespaces or podLabels: so it was meant to be pulled as it is; or
//   - it is covered by the rule's allowed.
//
// What is not an image reference does not pass. The sentence names the image's mirror where it has one, otherwise the
// places that pass.
type fromMirrors struct {
	mirrors *mirrorTable
	allowed match.ImageSet
	pass    string // the rest of the sentence about an image that has no mirror
}

func newFromMirrors(t *mirrorTable, allowed []match.ImagePattern) fromMirrors {
	var known []string
	seen := map[string]bool{}
	for i := range t.mirrors {
		if place := t.mirrors[i].to.String(); !seen[place] {
			seen[place] = true
			known = append(known, place)
		}
	}
	for _, p := range allowed {
		known = append(known, p.String())
	}
	c := fromMirrors{mirrors: t, allowed: match.NewImageSet(allowed), pass: "; allowed are " + text.List(known)}
	if len(known) == 0 {
		c.pass = ", and the policy has no mirrors in force"
	}
	return c
}

func (c fromMirrors) id() string { return "images.from" }

func (fromMirrors) steps(*judgedImage) int { return 0 }

func (c fromMirrors) passes(img *judgedImage, s *subject) bool {
	if img.err != nil {
		return false
	}
	if _, ok := c.allowed.Find(img.ref); ok {
		return true
	}
	return img.isFromMirror(c.mirrors, s)
}

func (c fromMirrors) fault(img *judgedImage, s *subject) string {
	if img.err != nil {
		return img.malformed("is not pulled from a mirror")
	}
	if out := c.mirrors.decide(img.ref, s); out.To != "" {
		return "is not pulled from a mirror; write " + out.To
	}
	return "is not pulled from a mirror" + c.pass
}
