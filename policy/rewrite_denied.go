package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
)

// denyingRules returns the rules for Pods, each with only its checks that deny images by name or by tag.
func denyingRules(pods *ruleset[podView]) *ruleset[podView] {
	var rules []rule[podView]
	for i := range pods.rules {
		if checks := slices.DeleteFunc(slices.Clone(pods.rules[i].checks), not(deniesImages)); len(checks) > 0 {
			rules = append(rules, rule[podView]{pods.rules[i].ruleHeader, checks})
		}
	}
	s := newRuleset(rules)
	s.known, s.exceptions = pods.known, pods.exceptions
	return s
}

// deniesImages reports whether a check denies images by name or by tag.
func deniesImages(c check[podView]) bool {
	if each, ok := c.(eachImage); ok {
		switch each.imageCheck.(type) {
		case deniedImages, deniedTags:
			return true
		}
	}
	return false
}

// denyOriginals evaluates images as they are written, before they are rewritten. EvaluatePod evaluates the images that
// are pulled. It does not find docker.io/evil at a mirror of docker.io. If a rule in mode enforce denies an image as it
// is written, by denied or deniedTags, the image is therefore not rewritten, so EvaluatePod denies it. Evergate then
// does not have to record the original in the Pod, because a tenant could forge the record. It does not have to reverse
// a mirror either, which may serve several sources.
//
// A rule in mode warn or audit does not prevent the rewriting, nor does an exempt finding. denyOriginals returns these
// findings, at most a thousand, unless the rule finds the rewritten image too, which EvaluatePod reports.
//
// originals are the images that outcomes rewrites, or would rewrite. old is the Pod before an update, nil otherwise.
func (p *Policy) denyOriginals(
	a Attributes, pod, old *Pod, originals []podImage, outcomes []ImageOutcome, e *Effort,
) ([]Finding, error) {
	all, err := evaluateAll(p.denying, a, withImages(pod, originals), pod, old, e)
	if err != nil || len(all.kept) == 0 {
		return nil, err
	}
	found, indexes := all.sorted(), make(map[string]int, len(outcomes))
	for i := range outcomes {
		indexes[outcomes[i].Image.Path()] = i
	}
	for _, f := range found {
		if out := &outcomes[indexes[f.Path]]; f.Denies() && out.Outcome != Denied {
			fault := strings.TrimPrefix(f.Reason, match.QuoteImage(out.Image.Ref))
			out.Outcome, out.To, out.Detail = Denied, "", f.ID()+":"+fault
		}
	}
	found = slices.DeleteFunc(found, func(f Finding) bool {
		return f.Existed || outcomes[indexes[f.Path]].Outcome != Rewritten
	})
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(indexes[a.Path], indexes[b.Path]) })
	return p.unlessPulled(a, pod, found[:min(len(found), maxFindings)], outcomes, indexes, e)
}

// unlessPulled returns the findings about original images that their rules do not have about the rewritten images.
// indexes has the outcome of an image by its path.
func (p *Policy) unlessPulled(
	a Attributes, pod *Pod, found []Finding, outcomes []ImageOutcome, indexes map[string]int, e *Effort,
) ([]Finding, error) {
	var pulled []podImage
	for i := range found {
		if i == 0 || found[i].Path != found[i-1].Path {
			img := outcomes[indexes[found[i].Path]].Image
			img.Ref = outcomes[indexes[found[i].Path]].To
			pulled = append(pulled, newPodImage(img))
		}
	}
	if len(pulled) == 0 {
		return nil, nil
	}
	all, err := evaluateAll(p.denying, a, withImages(pod, pulled), pod, nil, e)
	type key struct{ id, path string }
	again := make(map[key]bool, len(all.kept))
	for i := range all.kept {
		again[key{all.kept[i].ID(), all.kept[i].Path}] = true
	}
	found = slices.DeleteFunc(found, func(f Finding) bool { return again[key{f.ID(), f.Path}] })
	for i := range found {
		found[i].Reason += ", but not once it is rewritten to " + outcomes[indexes[found[i].Path]].To
	}
	return found, err
}

// withImages returns a function that views pod as a Pod with the given images, and other Pods as they are.
func withImages(pod *Pod, images []podImage) func(*Pod) podView {
	return func(of *Pod) podView {
		if of == pod {
			return podView{Pod: of, parsed: images}
		}
		return viewPod(of)
	}
}

// deniedBy returns the first check of an enforced rule, as rule/check, that denies an image by its name or its tag as
// it is written. It is empty if none does. Evergate does not rewrite such an image. The advice to write the image at
// its mirror would lead around the rule, or into the next denial. s is the subject of the Pod.
func (p *Policy) deniedBy(img *podImage, s *subject) string {
	policies := []*Policy{p.whole(), p}
	for _, q := range slices.Compact(policies) {
		if len(q.denying.rules) == 0 {
			continue
		}
		pod := &Pod{Meta: Meta{Labels: s.labels}}
		all, _ := evaluateAll(q.denying, s.attributes(), withImages(pod, []podImage{*img}), pod, nil, s.effort)
		for _, f := range all.sorted() {
			if f.Denies() {
				return f.ID()
			}
		}
	}
	return ""
}
