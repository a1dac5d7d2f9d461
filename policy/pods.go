package policy

import (
	"errors"
	"fmt"

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
	From       *imageOrigin   `yaml:"from"`       // mirrors: images stand at a mirror, or are excluded from rewriting
	Allowed    []imagePattern `yaml:"allowed"`    // places that pass, beside the mirrors where from asks for them
	Denied     []imagePattern `yaml:"denied"`     // places that do not
	DeniedTags []glob         `yaml:"deniedTags"` // latest is also what an image without tag and digest means
	Digest     *digestDemand  `yaml:"digest"`     // required: each image is pinned by a digest
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
func (*imageOrigin) UnmarshalText(text []byte) error { return theOnlyWord(text, "mirrors") }

// digestDemand is the value of digest.
type digestDemand struct{}

// UnmarshalText accepts the word required.
func (*digestDemand) UnmarshalText(text []byte) error { return theOnlyWord(text, "required") }

func theOnlyWord(text []byte, word string) error {
	if string(text) != word {
		return fmt.Errorf("%q is not known here: write %s, or leave the field out", text, word)
	}
	return nil
}

// checks compiles the rule. Findings come in the order of the checks, and for each of them in that of the images.
func (e *podsEntry) checks(t *mirrorTable) []check[judgedPod] {
	var spared imageSet
	if e.Exclude != nil {
		spared = newImageSet(e.Exclude.Images)
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
		add(deniedImages{newImageSet(rule.Denied)})
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
	// fault says what is wrong with an image, as the rest of a sentence that begins with it; empty when it passes.
	fault(img *judgedImage, s *subject) string
}

// eachImage asks an imageCheck of the images of a Pod that the rule does not spare by exclude.images.
type eachImage struct {
	imageCheck
	spared imageSet
}

func (c eachImage) find(pod *judgedPod, r *report) {
	for i := range pod.images() {
		img := &pod.parsed[i]
		if _, spared := c.spared.find(img.ref); spared {
			continue
		}
		if fault := c.fault(img, &pod.subject); fault != "" {
			r.add(Finding{
				Check:  c.id(),
				Path:   img.Path(),
				Reason: quotedImage(img.Ref) + " " + fault,
				Value:  img.identity(),
			})
		}
	}
}

// judgedPod is a Pod with its images parsed, once for all rules.
type judgedPod struct {
	*Pod
	subject subject
	parsed  []judgedImage
}

// newJudgedPod prepares a Pod for being judged; nil stays nil.
func newJudgedPod(a Attributes, pod *Pod) *judgedPod {
	if pod == nil {
		return nil
	}
	return &judgedPod{Pod: pod, subject: newSubject(a, &pod.Meta)}
}

// images returns the images, parsed.
func (p *judgedPod) images() []judgedImage {
	if p.parsed == nil {
		p.parsed = make([]judgedImage, len(p.Images))
		for i, img := range p.Images {
			ref, err := parseReference(img.Ref)
			p.parsed[i] = judgedImage{img, ref, err}
		}
	}
	return p.parsed
}

// judgedImage is an image and what it means.
type judgedImage struct {
	Image
	ref reference
	err error // why it is no image reference; nil when it is one
}

// identity is the same for all ways to write an image, so that writing it in another one is nothing new.
func (i *judgedImage) identity() string {
	if i.err != nil {
		return i.Ref
	}
	return i.ref.String()
}

// malformed says that the image is none, and what follows from it; empty when it is one.
func (i *judgedImage) malformed(so string) string {
	if i.err == nil {
		return ""
	}
	return "is not an image reference (" + i.err.Error() + "), so it " + so
}
