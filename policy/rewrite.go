package policy

import (
	"slices"

	"github.com/evergate/evergate/policy/internal/match"
)

// Rewriting is the result of RewritePod.
type Rewriting struct {
	Images []ImageOutcome // one for each element of Pod.Images, in the same order

	// Record is the new value of the annotation OriginalsAnnotation. It is empty if the annotation must not be written:
	// if no image is rewritten, or if the record does not fit into the Pod's annotations.
	Record string

	// PullSecrets are the secrets for the mirrors of rewritten images that are missing from the Pod's
	// spec.imagePullSecrets.
	PullSecrets PullSecrets

	// Findings are about the original images of rewritten images. Rules in mode warn or audit report them for the
	// original image, but not for the rewritten image, so EvaluatePod does not report them. At most 1000 are kept.
	Findings []Finding
}

// Changes reports whether any image is rewritten.
func (r Rewriting) Changes() bool {
	for i := range r.Images {
		if r.Images[i].Outcome == Rewritten {
			return true
		}
	}
	return false
}

// Pulled returns a copy of images in which the rewritten images replace the original images. images must be the images
// that RewritePod evaluated.
func (r Rewriting) Pulled(images []Image) []Image {
	pulled := slices.Clone(images)
	for i, o := range r.Images {
		if o.Outcome == Rewritten {
			pulled[i].Ref = o.To
		}
	}
	return pulled
}

// RewritePod returns the mirror that each image of pod is pulled from. old is the Pod before an update, or nil.
// RewritePod rewrites only images that the update changes, because a policy must not change Pods that existed before
// it. It returns the error of e if e exceeds its limit or expires. A nil Effort has the limits of a new Effort.
func (p *Policy) RewritePod(a Attributes, pod, old *Pod, e *Effort) (Rewriting, error) {
	if e == nil {
		e = new(Effort)
	}
	s := newSubject(a, &pod.Meta, classes{}, e)
	rw, err := p.rewriteImages(a, pod, old, &s, e)
	if err == nil && rw.Changes() {
		rw.PullSecrets = pullSecretsOf(a, pod, rw.Images)
		rw.Record = p.mirrors.record(pod, &s, rw.Images)
	}
	return rw, err
}

// rewriteImages is RewritePod without the pull secrets and the record. s is the subject of the Pod.
func (p *Policy) rewriteImages(a Attributes, pod, old *Pod, s *subject, e *Effort) (Rewriting, error) {
	rw := Rewriting{Images: make([]ImageOutcome, len(pod.Images))}
	var originals []podImage // the images that are rewritten or would be rewritten
	mutable, before := canChangeImages(a, pod), imagesByPlace(old)
	for i, img := range pod.Images {
		out := &rw.Images[i]
		if !e.spend(1) {
			return Rewriting{}, e.err
		}
		if !mutable {
			out.Outcome, out.Image = Ignored, img
		} else if was, ok := before[imageKey{img.Place, img.Name}]; ok && was == img.Ref {
			out.Outcome, out.Image = Unchanged, img
		} else if s.template && isPlaceholder(img.Ref, pod) {
			out.Outcome, out.Image = Placeholder, img
		} else if !e.spend(match.ReferenceSteps(img.Ref) + imageSteps) {
			return Rewriting{}, e.err
		} else if ref, err := match.ParseReference(img.Ref); err != nil {
			*out = ImageOutcome{Image: img, Outcome: Malformed, Detail: err.Error()}
		} else {
			*out = p.mirrors.decide(ref, s)
			out.Image = img
			if img.Never && out.To != "" {
				out.Outcome, out.To, out.PullSecret = NeverPulled, "", ""
				continue
			}
			if len(p.denying.rules) > 0 && (out.Outcome == Rewritten || out.Outcome == WouldRewrite) {
				originals = append(originals, podImage{Image: img, ref: ref})
			}
		}
	}
	if e.err != nil {
		return Rewriting{}, e.err
	}
	if len(originals) == 0 {
		return rw, nil
	}
	var err error
	rw.Findings, err = p.denyOriginals(a, pod, old, originals, rw.Images, e)
	if err != nil {
		return Rewriting{}, err
	}
	return rw, nil
}

// mirrorPodAnnotation marks the mirror Pod of a static Pod. Only kubelets create mirror Pods. The images of a static
// Pod come from a manifest on the node, so it has no effect to rewrite or deny its mirror Pod. A tenant who sets the
// annotation gains nothing: kubelet never runs a Pod that has it, and no update can add or remove it.
const mirrorPodAnnotation = "kubernetes.io/config.mirror"

// canChangeImages reports whether a request can change the images that a Pod runs. It returns false for mirror Pods and
// for subresources other than ephemeralcontainers (resize, status).
func canChangeImages(a Attributes, pod *Pod) bool {
	_, isMirrorPod := pod.Annotations[mirrorPodAnnotation]
	return !isMirrorPod && (a.Subresource == "" || a.Subresource == "ephemeralcontainers")
}

// imageKey identifies an image in a Pod by its list and its container name. It does not contain the index, because an
// update can reorder a list.
type imageKey struct {
	place Place
	name  string // name of the container
}

// imagesByPlace returns the images that the Pod had before an update. It returns nil if old is nil.
func imagesByPlace(old *Pod) map[imageKey]string {
	if old == nil {
		return nil
	}
	ps := make(map[imageKey]string, len(old.Images))
	for _, img := range old.Images {
		ps[imageKey{img.Place, img.Name}] = img.Ref
	}
	return ps
}

// ImageOutcome is what happens to one image, and why.
type ImageOutcome struct {
	Image   Image
	Outcome Outcome
	Entry   string // the mirrors entry that decides; empty if no entry does
	Mode    Mode   // mode of that entry
	To      string // the image that replaces it: set when Outcome is Rewritten or WouldRewrite
	// PullSecret is the imagePullSecret of the entry. It is set when To is set, and empty if the entry has no pull
	// secret.
	PullSecret string
	Detail     string // the parser's error, the pattern that excludes the image or the rule that denies it; may be empty
}

// Outcome is what happens to an image.
type Outcome uint8

// The outcomes of an image.
const (
	NoMirror     Outcome = iota // no source covers it
	Rewritten                   // an entry in mode enforce rewrites it
	WouldRewrite                // an entry in mode warn or audit covers it: reported only
	AtMirror                    // it is already at a mirror
	Excluded                    // the entry that covers it excludes it
	Unchanged                   // the update does not change this image
	Malformed                   // the image or its rewritten form is not a valid image reference
	Denied                      // a rule in mode enforce denies the original image, so it is not rewritten
	Ignored                     // a mirror Pod, or a subresource that cannot change an image
	NeverPulled                 // imagePullPolicy is Never: kubelet looks the image up on the node by its name
	Placeholder                 // the image of a template, which a controller fills in before it creates a Pod
	// Outcomes is the number of outcomes.
	Outcomes
)

func outcomeWords() [Outcomes]string {
	return [...]string{
		NoMirror:     "no mirror",
		Rewritten:    "rewritten",
		WouldRewrite: "would be rewritten",
		AtMirror:     "at a mirror",
		Excluded:     "excluded",
		Unchanged:    "unchanged",
		Malformed:    "malformed",
		Denied:       "denied",
		Ignored:      "ignored",
		NeverPulled:  "never pulled",
		Placeholder:  "placeholder",
	}
}

// String returns the outcome in one to three words: "would be rewritten".
func (o Outcome) String() string { return outcomeWords()[o] }

// Why returns the outcome and its reason in one sentence, without the image and without a full stop.
func (o *ImageOutcome) Why() string {
	switch o.Outcome {
	case Rewritten:
		return "pulled from " + o.To + o.withSecret() + " by mirrors entry " + o.Entry
	case WouldRewrite:
		return "would be pulled from " + o.To + o.withSecret() + " if mirrors entry " + o.Entry + " were in mode enforce; " +
			"it is in mode " + o.Mode.String()
	case AtMirror:
		return "already at mirror " + o.Entry
	case Excluded:
		return "excluded by mirrors entry " + o.Entry + ": " + o.Detail
	case Unchanged:
		return "unchanged by this update"
	case Malformed:
		if o.Entry != "" {
			return "cannot be rewritten by mirrors entry " + o.Entry + ": " + o.Detail
		}
		return "not an image reference: " + o.Detail
	case Denied:
		return "not rewritten by mirrors entry " + o.Entry + ": " + o.Detail
	case NeverPulled:
		return "not rewritten by mirrors entry " + o.Entry + ": its pull policy is Never, and kubelet looks for the image " +
			"on the node by this name"
	case Placeholder:
		return "not evaluated: the image is filled in before a Pod is created, and the Pod is evaluated then"
	case Ignored:
		return "not evaluated: it belongs to the mirror Pod of a static Pod, or the request cannot change it"
	default:
		return o.whyNoMirror()
	}
}

func (o *ImageOutcome) withSecret() string {
	if o.PullSecret == "" {
		return ""
	}
	return " with pull secret " + o.PullSecret
}

func (o *ImageOutcome) whyNoMirror() string {
	name := match.QuoteImage(o.Image.Ref)
	if ref, err := match.ParseReference(o.Image.Ref); err == nil {
		name = ref.Name
	}
	if o.Detail != "" {
		return "no source covers " + name + " here: " + o.Detail
	}
	return "no source covers " + name
}
