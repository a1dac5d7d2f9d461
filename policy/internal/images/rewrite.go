package images

import (
	"slices"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// Rewriting is the result of RewritePod.
type Rewriting struct {
	Images []mirror.ImageOutcome // one for each element of Pod.Images, in the same order

	// Record is the new value of the annotation OriginalsAnnotation. It is empty if the annotation must not be written:
	// if no image is rewritten, or if the record does not fit into the Pod's annotations.
	Record string

	// PullSecrets are the secrets for the mirrors of rewritten images that are missing from the Pod's
	// spec.imagePullSecrets.
	PullSecrets mirror.PullSecrets

	// Findings are about the original images of rewritten images. Rules in mode warn or audit report them for the
	// original image, but not for the rewritten image, so ForPods.Evaluate does not report them. At most 1000 are kept.
	Findings []rule.Finding
}

// Changes reports whether any image is rewritten.
func (r Rewriting) Changes() bool {
	return slices.ContainsFunc(r.Images, func(o mirror.ImageOutcome) bool { return o.Outcome == mirror.Rewritten })
}

// Pulled returns a copy of images in which the rewritten images replace the original images. images must be the images
// that RewritePod evaluated.
func (r Rewriting) Pulled(images []object.Image) []object.Image {
	pulled := slices.Clone(images)
	for i, o := range r.Images {
		if o.Outcome == mirror.Rewritten {
			pulled[i].Ref = o.To
		}
	}
	return pulled
}

// RewritePod returns the mirror that each image of pod is pulled from. old is the Pod before an update, or nil.
// RewritePod rewrites only images that the update changes, because a policy must not change Pods that existed before
// it. It returns the error of e if e exceeds its limit or expires. A nil Effort has the limits of a new Effort.
func (r *Rules) RewritePod(a object.Attributes, pod, old *object.Pod, e *rule.Effort) (Rewriting, error) {
	if e == nil {
		e = new(rule.Effort)
	}
	s := rule.NewSubject(a, &pod.Meta, [2]string{}, e)
	rw, err := r.rewriteImages(a, pod, old, &s, e)
	if err == nil && rw.Changes() {
		rw.PullSecrets = mirror.PullSecretsOf(a, pod, rw.Images)
		rw.Record = r.mirrors.Record(pod, &s, rw.Images)
	}
	return rw, err
}

// rewriteImages is RewritePod without the pull secrets and the record. s is the subject of the Pod.
func (r *Rules) rewriteImages(
	a object.Attributes, pod, old *object.Pod, s *rule.Subject, e *rule.Effort,
) (Rewriting, error) {
	rw := Rewriting{Images: make([]mirror.ImageOutcome, len(pod.Images))}
	var originals []podImage // the images that are rewritten or would be rewritten
	mutable, before := canChangeImages(a), map[imageKey]string(nil)
	if old != nil {
		before = make(map[imageKey]string, len(old.Images))
		for _, img := range old.Images {
			before[imageKey{img.Place, img.Name}] = img.Ref
		}
	}
	for i, img := range pod.Images {
		out := &rw.Images[i]
		if err := e.Spend(1); err != nil {
			return Rewriting{}, err
		}
		if !mutable {
			out.Outcome, out.Image = mirror.Ignored, img
		} else if was, ok := before[imageKey{img.Place, img.Name}]; ok && was == img.Ref {
			out.Outcome, out.Image = mirror.Unchanged, img
		} else if isPlaceholder(&img, pod, s.Template) {
			out.Outcome, out.Image = mirror.Placeholder, img
		} else if err := e.Spend(match.ReferenceSteps(img.Ref) + match.ImageSteps); err != nil {
			return Rewriting{}, err
		} else if ref, err := match.ParseReference(img.Ref, r.mirrors.ShortNames); err != nil {
			*out = mirror.ImageOutcome{Image: img, Outcome: mirror.Malformed, Detail: err.Error()}
		} else {
			*out = r.mirrors.Decide(ref, s)
			out.Image = img
			if img.PullPolicy == object.PullNever && out.To != "" {
				out.Outcome, out.To, out.PullSecret = mirror.NeverPulled, "", ""
				continue
			}
			if r.denying != nil && (out.Outcome == mirror.Rewritten || out.Outcome == mirror.WouldRewrite) {
				originals = append(originals, podImage{Image: img, ref: ref})
			}
		}
	}
	err := e.Spend(0) // selectors and mirrors spend steps too
	if err == nil && len(originals) > 0 {
		rw.Findings, err = r.denyOriginals(a, pod, old, originals, rw.Images, e)
	}
	if err != nil {
		return Rewriting{}, err
	}
	return rw, nil
}

// canChangeImages reports whether a request can change the images that a Pod runs. It returns false for subresources
// other than ephemeralcontainers (resize, status). Mirror Pods aren't exempt. A tenant can write their annotation, and
// virtual-kubelet runs such a Pod (virtual-kubelet v1.14.1, node/nodeutil/client.go). The API server doesn't call the
// webhooks when a node creates a mirror Pod.
func canChangeImages(a object.Attributes) bool {
	return a.Subresource == "" || a.Subresource == "ephemeralcontainers"
}

// imageKey identifies an image in a Pod by its list and its container name. It does not contain the index, because an
// update can reorder a list.
type imageKey struct {
	place object.Place
	name  string // name of the container
}
