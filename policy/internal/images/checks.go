package images

import (
	"errors"
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// imagesRule is the images field. It describes which images pass. Absent fields are not checked.
type imagesRule struct {
	// From: mirrors means that each image must come from a mirror or be excluded from rewriting.
	From *imageOrigin `yaml:"from"`
	// Allowed lists the places that pass. A place is a registry, a path in a registry, or one image. If from is also set,
	// images at these places pass in addition to images at the mirrors. [] denies all images.
	Allowed []match.ImagePattern `yaml:"allowed"`
	// Denied lists the places whose images do not pass.
	Denied []match.ImagePattern `yaml:"denied"`
	// DeniedTags lists the tags that do not pass. A * matches any run of characters. The tag latest also denies images
	// that have neither a tag nor a digest.
	DeniedTags []match.Glob `yaml:"deniedTags"`
	// Digest: required means that each image must be pinned by a digest.
	Digest *digestDemand `yaml:"digest"`
	// Qualified: true means that each image must be written with its registry. Runtimes choose the registry of a short
	// name, and CRI-O may reject it.
	Qualified bool `yaml:"qualified"`
	// PullPolicies: the pull policies that images may or must have.
	PullPolicies *pullPolicyRules `yaml:"pullPolicies"`
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
	for _, g := range r.DeniedTags {
		if err := match.Tags().Check(g); err != nil {
			errs = append(errs, strict.Fieldf("deniedTags", "%v", err))
		}
	}
	if r.From == nil && r.Allowed == nil && r.Denied == nil && r.DeniedTags == nil && r.Digest == nil &&
		!r.Qualified && r.PullPolicies == nil {
		errs = append(errs, errors.New(
			"checks nothing: write at least one of from, allowed, denied, deniedTags, digest, qualified, pullPolicies"))
	}
	return errors.Join(errs...)
}

// imageOrigin is the value of from.
type imageOrigin struct{}

// UnmarshalText accepts the word mirrors.
func (*imageOrigin) UnmarshalText(b []byte) error { return acceptWord(b, "mirrors") }

// digestDemand is the value of digest.
type digestDemand struct{}

// UnmarshalText accepts the word required.
func (*digestDemand) UnmarshalText(b []byte) error { return acceptWord(b, "required") }

// acceptWord returns an error for a text other than word.
func acceptWord(b []byte, word string) error {
	if string(b) != word {
		return fmt.Errorf("%s is not known here: write %s, or leave the field out", text.Quote(b), word)
	}
	return nil
}

// checks compiles the entry. Findings are in the order of the checks, and for each check in the order of the images.
func (e *PodsEntry) checks(r *Rules) []rule.Check[podView] {
	var excluded match.ImageSet
	if exclude := e.PermanentExclude(); exclude != nil {
		excluded = match.NewImageSet(exclude.Images)
	}
	var checks []rule.Check[podView]
	add := func(c imageCheck) { checks = append(checks, eachImage{imageCheck: c, excluded: excluded}) }
	rule := &e.Images
	switch {
	case rule.From != nil:
		add(newFromMirrors(r, rule.Allowed))
	case rule.Allowed != nil:
		add(newAllowedImages(rule.Allowed))
	}
	if rule.Denied != nil {
		add(deniedImages{match.NewImageSet(rule.Denied)})
	}
	if rule.DeniedTags != nil {
		checks = append(checks, eachImage{deniedTags{rule.DeniedTags}, excluded, len(rule.DeniedTags)})
	}
	if rule.Digest != nil {
		add(digestRequired{})
	}
	if rule.Qualified {
		add(qualifiedImages{})
	}
	if rule.PullPolicies != nil {
		checks = append(checks, rule.PullPolicies.check(excluded))
	}
	return checks
}

// imageCheck is a check that evaluates one image at a time.
type imageCheck interface {
	// id returns the field of the rule, for example images.digest.
	id() string
	// passes returns whether an image passes. s is the subject of its Pod.
	passes(img *podImage, s *rule.Subject) bool
	// fault returns why an image does not pass. The text is the rest of a sentence that begins with the image.
	fault(img *podImage, s *rule.Subject) string
}

// eachImage runs an imageCheck on each image in a Pod, except images that exclude.images of the entry excludes
// permanently.
type eachImage struct {
	imageCheck
	excluded match.ImageSet
	tags     int // the number of patterns with which the check compares the tag
}

func (c eachImage) Find(pod *podView, r *rule.Recorder) {
	images := pod.images(r)
	for i := range images {
		img := &images[i]
		if !r.Spend(match.ImageSteps + rule.StepsOf(c.tags, img.ref.Tag())) {
			return
		}
		if _, excluded := c.excluded.Find(img.ref); excluded || c.passes(img, r.Subject) {
			continue
		}
		if f := r.TryAdd(img.identity(c.id())); f != nil {
			f.Path, f.Reason = img.Path(), match.QuoteImage(img.Ref)+" "+c.fault(img, r.Subject)
		}
	}
}

// fromMirrors is images.from: mirrors. An image passes if
//
//   - it is at the mirror of an entry that is not off, whatever the entry's mode or match, because the mirror serves
//     the content; or
//   - the entry that covers it excludes it from rewriting, by images, namespaces or podLabels; or
//   - the rule's allowed covers it.
//
// A text that is not an image reference does not pass. The same rules apply to an image with the pull policy Never.
// A kubelet before 1.35 runs any image on the node with the same name, even if another tenant pulled it with other
// credentials. The sentence contains the image's mirror if it has a mirror, and otherwise the places that pass. If an
// image is written with another host of Docker Hub and an entry rewrites all of docker.io, the sentence contains the
// image on docker.io. The image is not rewritten, because a runtime may not pull the same image from both hosts.
type fromMirrors struct {
	mirrors *mirror.Table
	hub     string // the entry that rewrites all of docker.io for every Pod; empty without such an entry
	// deniedBy returns the check that denies an image wherever it is pulled from. See Rules.deniedBy.
	deniedBy func(img *podImage, s *rule.Subject) string
	allowed  match.ImageSet
	pass     string // the end of the sentence about an image without a mirror
}

func newFromMirrors(r *Rules, allowed []match.ImagePattern) fromMirrors {
	t := r.mirrors
	known := t.Destinations()
	for _, p := range allowed {
		known = append(known, p.String())
	}
	c := fromMirrors{
		mirrors: t, hub: t.RewritesDockerHub(), deniedBy: r.deniedBy, allowed: match.NewImageSet(allowed),
		pass: "; allowed are " + text.List(known),
	}
	if len(known) == 0 {
		c.pass = ", and the policy has no active mirrors"
	}
	return c
}

func (c fromMirrors) id() string { return "images.from" }

func (c fromMirrors) passes(img *podImage, s *rule.Subject) bool {
	if img.err != nil {
		return false
	}
	if _, ok := c.allowed.Find(img.ref); ok {
		return true
	}
	return img.mirrorState(c.mirrors, s) == mirroredOrExcluded
}

func (c fromMirrors) fault(img *podImage, s *rule.Subject) string {
	if img.err != nil {
		return img.malformed("is not pulled from a mirror")
	}
	if out := c.mirrors.Decide(img.ref, s); out.To != "" && out.To != img.ref.String() { // not only qualified
		if by := c.deniedBy(img, s); by != "" {
			return "is not pulled from a mirror, because " + by + " denies it"
		}
		if img.PullPolicy == object.PullNever {
			return "is not pulled from a mirror, and not rewritten, because its pull policy is Never; load it on the nodes as " +
				out.To + " and write that, or have the policy allow it"
		}
		return "is not pulled from a mirror; write " + out.To
	}
	if image, other := img.ref.OnDockerHub(); other && c.hub != "" && img.PullPolicy != object.PullNever &&
		c.deniedBy(img, s) == "" {
		return "is not pulled from a mirror; write " + image + ", which mirrors entry " + c.hub + " covers"
	}
	return "is not pulled from a mirror" + c.pass
}

// allowedImages is images.allowed without from. An image passes if one of the patterns covers it. With [], no image
// passes. A text that is not an image reference does not pass.
type allowedImages struct {
	allowed match.ImageSet
	pass    string // the end of its sentences
}

func newAllowedImages(patterns []match.ImagePattern) allowedImages {
	c := allowedImages{match.NewImageSet(patterns), "no image is"}
	if len(patterns) > 0 {
		c.pass = "allowed are " + text.List(text.Strings(patterns))
	}
	return c
}

func (c allowedImages) id() string { return "images.allowed" }

func (c allowedImages) passes(img *podImage, _ *rule.Subject) bool {
	_, ok := c.allowed.Find(img.ref)
	return ok && img.err == nil
}

func (c allowedImages) fault(img *podImage, _ *rule.Subject) string {
	if img.err != nil {
		return img.malformed("is not allowed")
	}
	return "is not allowed; " + c.pass
}

// deniedImages is images.denied. An image does not pass if one of the patterns covers it, however the image or the
// pattern is spelled. A pattern with a tag also covers the tag if a digest follows it. A pattern for docker.io also
// covers the other names of Docker Hub. The pattern docker.io/nginx also covers docker.io/library/nginx, for which it
// is short. A text that is not an image reference does not pass, because the runtime chooses its registry.
//
// An image that is written with the name of a mirror is evaluated by the place it is pulled from. An image that is
// about to be rewritten is evaluated as it is written. See Rules.denyOriginals.
type deniedImages struct{ denied match.ImageSet }

func (c deniedImages) id() string { return "images.denied" }

func (c deniedImages) passes(img *podImage, _ *rule.Subject) bool {
	_, denied := c.denied.FindUnderAnyName(img.ref)
	return img.err == nil && !denied
}

func (c deniedImages) fault(img *podImage, _ *rule.Subject) string {
	if img.err != nil {
		return img.malformed("counts as denied")
	}
	p, _ := c.denied.FindUnderAnyName(img.ref)
	return "is denied by " + p.String()
}

// deniedTags is images.deniedTags. An image does not pass if one of the patterns matches its tag. An image with neither
// tag nor digest has the tag latest. A tag is checked even if a digest follows it. An image with only a digest passes.
// A text that is not an image reference does not pass, because the runtime decides which tag it has.
type deniedTags struct{ denied []match.Glob }

func (c deniedTags) id() string { return "images.deniedTags" }

func (c deniedTags) passes(img *podImage, _ *rule.Subject) bool {
	_, _, denied := c.by(img)
	return img.err == nil && !denied
}

func (c deniedTags) fault(img *podImage, _ *rule.Subject) string {
	if img.err != nil {
		return img.malformed("counts as having a denied tag")
	}
	tag, by, _ := c.by(img)
	says := "has the tag " + tag
	if img.ref.Suffix == "" {
		says = "has neither tag nor digest, which means latest"
	}
	if string(by) == tag {
		return says + ", and that is denied"
	}
	return says + ", and that is denied by " + string(by)
}

// by returns the tag of an image and the pattern that denies it. denied reports whether there is such a pattern.
func (c deniedTags) by(img *podImage) (tag string, by match.Glob, denied bool) {
	tag = img.ref.Tag()
	if img.ref.Suffix == "" {
		tag = "latest"
	}
	by, denied = match.FirstGlob(c.denied, tag)
	return tag, by, denied && tag != ""
}

// qualifiedImages is images.qualified. An image passes if it begins with its registry. A text that is not an image
// reference does not pass.
type qualifiedImages struct{}

func (qualifiedImages) id() string { return "images.qualified" }

func (qualifiedImages) passes(img *podImage, _ *rule.Subject) bool {
	return img.err == nil && !img.ref.Short
}

func (qualifiedImages) fault(img *podImage, _ *rule.Subject) string {
	if img.err != nil {
		return img.malformed("does not begin with a registry")
	}
	return "is a short name, whose registry the node chooses; write " + img.ref.Name + img.ref.Suffix
}
