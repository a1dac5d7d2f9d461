package images

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// deniesImages reports whether a check denies images by name or by tag.
func deniesImages(c rule.Check[podView]) bool {
	if each, ok := c.(eachImage); ok {
		switch each.imageCheck.(type) {
		case deniedImages, deniedTags:
			return true
		}
	}
	return false
}

// denyOriginals evaluates the original images, before they are rewritten. ForPods evaluates the images that are
// pulled, so it does not find docker.io/evil at a mirror of docker.io. If the denied or deniedTags check of a rule in
// mode enforce denies an original image, denyOriginals sets the outcome to Denied. The image is then not rewritten, and
// ForPods denies it. Therefore, Evergate does not have to trust a record of the original image in the Pod, which a
// tenant could forge. It also does not have to map a mirror back to its source, because a mirror can serve several
// sources.
//
// Findings of rules in mode warn or audit and exempt findings do not prevent the rewriting. denyOriginals returns these
// findings, at most 1000, unless the rule also finds the rewritten image. ForPods reports the rewritten image.
//
// originals are the images that outcomes rewrites or would rewrite. old is the Pod before an update, or nil.
func (r *Rules) denyOriginals(
	a object.Attributes, pod, old *object.Pod, originals []podImage, outcomes []mirror.ImageOutcome, e *rule.Effort,
) ([]rule.Finding, error) {
	found, err := rule.Evaluate(r.denying, a, r.withImages(pod, originals), pod, old, e)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	indexes := make(map[string]int, len(outcomes))
	for i := range outcomes {
		indexes[outcomes[i].Image.Path()] = i
	}
	for _, f := range found {
		if out := &outcomes[indexes[f.Path]]; f.Denies() && out.Outcome != mirror.Denied {
			fault := strings.TrimPrefix(f.Reason, match.QuoteImage(out.Image.Ref))
			out.Outcome, out.To, out.Detail = mirror.Denied, "", f.ID()+":"+fault
		}
	}
	found = slices.DeleteFunc(found, func(f rule.Finding) bool {
		return f.Existed || outcomes[indexes[f.Path]].Outcome != mirror.Rewritten
	})
	slices.SortStableFunc(found, func(a, b rule.Finding) int { return cmp.Compare(indexes[a.Path], indexes[b.Path]) })
	return r.unlessPulled(a, pod, found[:min(len(found), rule.MaxFindings)], outcomes, indexes, e)
}

// unlessPulled returns the findings about original images, except findings that the same rule also reports about the
// rewritten image. indexes maps the path of an image to the index of its outcome.
func (r *Rules) unlessPulled(
	a object.Attributes, pod *object.Pod, found []rule.Finding, outcomes []mirror.ImageOutcome, indexes map[string]int,
	e *rule.Effort,
) ([]rule.Finding, error) {
	var pulled []podImage
	for i := range found {
		if i == 0 || found[i].Path != found[i-1].Path {
			img := outcomes[indexes[found[i].Path]].Image
			img.Ref = outcomes[indexes[found[i].Path]].To
			ref, _ := match.ParseReference(img.Ref, "") // a mirror is valid and has a registry
			pulled = append(pulled, podImage{Image: img, ref: ref})
		}
	}
	if len(pulled) == 0 {
		return nil, nil
	}
	all, err := rule.Evaluate(r.denying, a, r.withImages(pod, pulled), pod, nil, e)
	type key struct{ id, path string }
	again := make(map[key]bool, len(all))
	for i := range all {
		again[key{all[i].ID(), all[i].Path}] = true
	}
	found = slices.DeleteFunc(found, func(f rule.Finding) bool { return again[key{f.ID(), f.Path}] })
	for i := range found {
		found[i].Reason += ", but not after it is rewritten to " + outcomes[indexes[found[i].Path]].To
	}
	return found, err
}

// withImages returns a function that returns a view of a Pod. The view of pod has the given images. Views of other Pods
// have their own images.
func (r *Rules) withImages(pod *object.Pod, images []podImage) func(*object.Pod) podView {
	return func(of *object.Pod) podView {
		if of == pod {
			return podView{Pod: of, parsed: images}
		}
		return r.viewPod(of)
	}
}

// deniedBy returns the first check, as rule/check, of a rule in mode enforce that denies the original image by its name
// or tag. It returns an empty string if no check does. Evergate does not rewrite such an image. It also must not advise
// users to write the image at its mirror, because that would bypass the rule or lead to the next denial. s is the
// subject of the Pod.
func (r *Rules) deniedBy(img *podImage, s *rule.Subject) string {
	for _, q := range slices.Compact([]*Rules{r.whole, r}) {
		if q.denying == nil {
			continue
		}
		pod := &object.Pod{Meta: object.Meta{Labels: s.Labels}}
		found, _ := rule.Evaluate(q.denying, s.Attributes, r.withImages(pod, []podImage{*img}), pod, nil, s.Effort)
		for _, f := range found {
			if f.Denies() {
				return f.ID()
			}
		}
	}
	return ""
}
