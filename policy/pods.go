package policy

import (
	"github.com/evergate/evergate/policy/internal/match"
)

// podsEntry is an entry of pods: a rule on the images of a Pod as they will be pulled, after all rewriting.
type podsEntry struct {
	ruleHeader
	Images imagesRule `yaml:"images,required"`
}

// Validate implements strict.Validator.
func (e *podsEntry) Validate() error { return e.validate(dimensions{podLabels: true, images: true}) }

// imageSteps is how many steps it takes to ask one check of an image: a look-up for each segment of its name.
const imageSteps = 4

// judgedPod is a Pod with its images parsed, once for all rules.
type judgedPod struct {
	*Pod
	subject subject
	parsed  []judgedImage
}

// newJudgedPod prepares a Pod for being judged; nil stays nil.
func newJudgedPod(a Attributes, pod *Pod, e *Effort) *judgedPod {
	if pod == nil {
		return nil
	}
	return &judgedPod{Pod: pod, subject: newSubject(a, &pod.Meta, e)}
}

// images returns the images, parsed once for all rules.
func (p *judgedPod) images(r *report) []judgedImage {
	if p.parsed != nil {
		return p.parsed
	}
	parsed := make([]judgedImage, len(p.Images))
	for i, img := range p.Images {
		if !r.spend(match.ReferenceSteps(img.Ref)) {
			return nil
		}
		parsed[i] = newJudgedImage(img)
	}
	p.parsed = parsed
	return parsed
}

// judgedImage is an image and what it means.
type judgedImage struct {
	Image
	ref match.Reference
	err error // why it is no image reference; nil when it is one

	state mirrorState // what the mirrors say of it, once a rule has asked
}

// mirrored says whether an image stands at a mirror, or is meant to be pulled as it is.
type mirrorState uint8

const (
	mirrorUnknown mirrorState = iota
	atMirror
	notAtMirror
)

func newJudgedImage(img Image) judgedImage {
	ref, err := match.ParseReference(img.Ref)
	return judgedImage{Image: img, ref: ref, err: err}
}

// isFromMirror reports whether an image stands at a mirror, or is excluded from being rewritten. The subject is that of
// its Pod.
func (i *judgedImage) mirrorState(t *mirrorTable, s *subject) bool {
	if i.state == mirrorUnknown {
		i.state = notAtMirror
		if out := t.decide(i.ref, s).Outcome; out == AtMirror || out == Excluded {
			i.state = atMirror
		}
	}
	return i.state == atMirror
}

// identity is that of a finding about an image: the same for all ways to write it, so that writing it in another one
// introduces nothing.
func (i *judgedImage) identity(check string) identity {
	if i.err != nil {
		return identity{check: check, value: i.Ref}
	}
	return identity{check: check, value: i.ref.Name, detail: i.ref.Suffix}
}

// malformed says that the image is none, and what follows from it; empty when it is one.
func (i *judgedImage) malformed(so string) string {
	if i.err == nil {
		return ""
	}
	return "is not an image reference (" + i.err.Error() + "), so it " + so
}
