package policy

import "github.com/evergate/evergate/policy/internal/match"

// originals asks the pods rules about images as they are written, just before they are rewritten. The judge sees them
// as they will be pulled, from the mirror, where a denied of docker.io/evil finds nothing. So an image that a rule in
// mode enforce denies as it is written, by denied or deniedTags, is not rewritten: the judge then sees it as it is
// written, and denies it. Nothing need be recorded for that in the Pod, where a tenant could forge it, nor be found by
// reversing a mirror, which may serve several sources.
//
// By rules in mode warn or audit the image is rewritten all the same, and what they find is reported with the rewriting,
// unless they find it at the mirror too: then the judge tells.
type originalImages struct {
	policy   *Policy
	a        Attributes
	pod, old *Pod // old is the Pod before an update; nil when there is none
	effort   *Effort

	// Lazy: most policies deny nothing.

	ready         bool
	subject       *subject
	rules         []originalsRule
	oldIdentities map[identity]bool // identities of the old images

	found []Finding
}

// originalsRule is a rule that looks at the Pod, with those of its checks that deny.
type originalsRule struct {
	*ruleHeader
	checks  []eachImage
	existed bool // it looked at the Pod before the update too
}

// denying returns those checks of a rule that deny images by what they are.
func denying(checks []check[judgedPod]) []eachImage {
	var all []eachImage
	for _, c := range checks {
		each, ok := c.(eachImage)
		if !ok {
			continue
		}
		switch each.imageCheck.(type) {
		case deniedImages, deniedTags:
			all = append(all, each)
		}
	}
	return all
}

// judge decides about an image that out rewrites, or would.
func (o *originalImages) judge(out *ImageOutcome, ref match.Reference) {
	if out.Outcome != Rewritten && out.Outcome != WouldRewrite || len(o.applicable()) == 0 {
		return
	}
	img := judgedImage{Image: out.Image, ref: ref}
	before := len(o.found)
	var pulled *judgedImage // the image as it will be
	for _, rule := range o.rules {
		told := rule.Mode != Enforce
		if told && (out.Outcome == WouldRewrite || len(o.found) >= maxFindings) {
			continue // the judge sees the image as it is written, or nothing more is kept
		}
		for _, c := range rule.checks {
			if !o.effort.spend(imageSteps + c.steps(&img)) {
				return
			}
			if c.passes(&img, o.subject) || told && len(o.found) >= maxFindings || rule.existed && o.hadBefore(&img) {
				continue
			}
			if !told {
				out.Outcome, out.To, out.Detail = Denied, "", string(rule.Name)+"/"+c.id()+": "+c.fault(&img, o.subject)
				o.found = o.found[:before] // the judge sees it as it is written
				return
			}
			if pulled == nil {
				pulled = new(newJudgedImage(Image{Ref: out.To}))
			}
			if o.effort.spend(c.steps(pulled)) && c.passes(pulled, o.subject) {
				o.report(rule, c, &img, out.To)
			}
		}
	}
}

// tell adds what a rule that does not deny has against an image that is rewritten.
func (o *originalImages) report(rule originalsRule, c eachImage, img *judgedImage, to string) {
	o.found = append(o.found, Finding{
		Rule: string(rule.Name), Check: c.id(), Mode: rule.Mode, Note: string(rule.Message),
		Path: img.Path(), Reason: c.reason(img, o.subject) + ", but not once it is rewritten to " + to,
	})
}

// applying returns the rules that look at the Pod and can deny an image.
func (o *originalImages) applicable() []originalsRule {
	if o.ready {
		return o.rules
	}
	o.ready = true
	if !o.policy.denies {
		return nil
	}
	o.subject = new(newSubject(o.a, &o.pod.Meta, o.effort))
	pods := &o.policy.pods
	for _, i := range pods.index.candidates(o.a.Namespace) {
		rule, checks := &pods.rules[i], o.policy.denying[i]
		if len(checks) == 0 || !o.effort.spend(1) || !rule.appliesTo(o.subject) {
			continue
		}
		applies := originalsRule{ruleHeader: &rule.ruleHeader, checks: checks}
		if o.old != nil {
			before := newSubject(o.a, &o.old.Meta, o.effort)
			applies.existed = rule.appliesTo(&before)
		}
		o.rules = append(o.rules, applies)
	}
	return o.rules
}

// hadBefore says whether the Pod had the image before the update, wherever it stood: then a finding about it is not
// new, and does not deny.
func (o *originalImages) hadBefore(img *judgedImage) bool {
	if o.oldIdentities == nil {
		o.oldIdentities = make(map[identity]bool, len(o.old.Images))
		for _, old := range o.old.Images {
			before := newJudgedImage(old)
			o.oldIdentities[before.identity("")] = true
		}
	}
	return o.oldIdentities[img.identity("")]
}
