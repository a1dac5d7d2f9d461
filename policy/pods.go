package policy

import (
	"errors"
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// podsEntry is an entry of pods: a rule on the images of a Pod as they will be pulled, after all rewriting.
type podsEntry struct {
	ruleHeader
	Images imagesRule `yaml:"images,required"`
}

// Validate implements strict.Validator.
func (e *podsEntry) Validate() error { return e.validate(dimensions{podLabels: true, images: true}) }

// imagesRule says which images pass. What is absent is not checked.
type imagesRule struct {
	From       *imageOrigin         `yaml:"from"`       // mirrors: images stand at a mirror, or are excluded from rewriting
	Allowed    []match.ImagePattern `yaml:"allowed"`    // places that pass, beside the mirrors where from asks for them
	Denied     []match.ImagePattern `yaml:"denied"`     // places that do not
	DeniedTags []match.Glob         `yaml:"deniedTags"` // latest is also what an image without tag and digest means
	Digest     *digestDemand        `yaml:"digest"`     // required: each image is pinned by a digest
}

// Validate implements strict.Validator.
func (r *imagesRule) Validate() error {
	var errs []error
	const nothing = "[] denies nothing: leave the field out"
	if r.Denied != nil && len(r.Denied) == 0 {
		errs = append(errs, strict.Fieldf("denied", nothing))
	}
	if r.DeniedTags != nil && len(r.DeniedTags) == 0 {
		errs = append(errs, strict.Fieldf("deniedTags", nothing))
	}
	if r.From == nil && r.Allowed == nil && r.Denied == nil && r.DeniedTags == nil && r.Digest == nil {
		errs = append(errs, errors.New("checks nothing: write at least one of from, allowed, denied, deniedTags, digest"))
	}
	return errors.Join(errs...)
}

// imageOrigin is the value of from.
type imageOrigin struct{}

// UnmarshalText accepts the word mirrors.
func (*imageOrigin) UnmarshalText(b []byte) error { return theOnlyWord(b, "mirrors") }

// digestDemand is the value of digest.
type digestDemand struct{}

// UnmarshalText accepts the word required.
func (*digestDemand) UnmarshalText(b []byte) error { return theOnlyWord(b, "required") }

func theOnlyWord(b []byte, word string) error {
	if string(b) != word {
		return fmt.Errorf("%s is not known here: write %s, or leave the field out", text.Quote(b), word)
	}
	return nil
}

// checks compiles the rule. Findings come in the order of the checks, and for each of them in that of the images.
func (e *podsEntry) checks(t *mirrorTable) []check[judgedPod] {
	var spared match.ImageSet
	if e.Exclude != nil {
		spared = match.NewImageSet(e.Exclude.Images)
	}
	var checks []check[judgedPod]
	add := func(c imageCheck) { checks = append(checks, eachImage{c, spared}) }
	rule := &e.Images
	switch {
	case rule.From != nil:
		add(newFromMirrors(t, rule.Allowed))
	case rule.Allowed != nil:
		add(newAllowedImages(rule.Allowed))
	}
	if rule.Denied != nil {
		add(deniedImages{match.NewImageSet(rule.Denied)})
	}
	if rule.DeniedTags != nil {
		add(deniedTags{rule.DeniedTags})
	}
	if rule.Digest != nil {
		add(digestRequired{})
	}
	return checks
}

// imageCheck is one question that a rule asks of every image of a Pod.
type imageCheck interface {
	id() string // the field of the rule
	// steps is how many steps passes takes beside imageSteps.
	steps(img *judgedImage) int
	passes(img *judgedImage, s *subject) bool
	// fault says what is wrong with an image that does not pass, as the rest of a sentence that begins with it.
	fault(img *judgedImage, s *subject) string
}

// eachImage asks an imageCheck of the images of a Pod that the rule does not spare by exclude.images.
type eachImage struct {
	imageCheck
	spared match.ImageSet
}

func (c eachImage) find(pod *judgedPod, r *report) {
	images := pod.images(r)
	for i := range images {
		img := &images[i]
		if !r.spend(imageSteps + c.steps(img)) {
			return
		}
		if c.passes(img, &pod.subject) {
			continue
		}
		if f := r.found(img.identity(c.id())); f != nil {
			f.Path, f.Reason = img.Path(), c.reason(img, &pod.subject)
		}
	}
}

// passes reports whether the rule spares an image, or has nothing against it.
func (c eachImage) passes(img *judgedImage, s *subject) bool {
	if _, spared := c.spared.Find(img.ref); spared {
		return true
	}
	return c.imageCheck.passes(img, s)
}

// reason is the sentence about an image that does not pass.
func (c eachImage) reason(img *judgedImage, s *subject) string {
	return match.QuoteImage(img.Ref) + " " + c.fault(img, s)
}

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

	mirrored mirrored // what the mirrors say of it, once a rule has asked
}

// mirrored says whether an image stands at a mirror, or is meant to be pulled as it is.
type mirrored uint8

const (
	mirrorsNotAsked mirrored = iota
	fromMirror
	notFromMirror
)

func newJudgedImage(img Image) judgedImage {
	ref, err := match.ParseReference(img.Ref)
	return judgedImage{Image: img, ref: ref, err: err}
}

// isFromMirror reports whether an image stands at a mirror, or is excluded from being rewritten. The subject is that of
// its Pod.
func (i *judgedImage) isFromMirror(t *mirrorTable, s *subject) bool {
	if i.mirrored == mirrorsNotAsked {
		i.mirrored = notFromMirror
		if out := t.decide(i.ref, s).Outcome; out == AtMirror || out == Excluded {
			i.mirrored = fromMirror
		}
	}
	return i.mirrored == fromMirror
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
