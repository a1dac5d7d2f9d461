package policy

import (
	"slices"

	"github.com/evergate/evergate/policy/internal/match"
)

// originalImages judges images by the pods rules as they are written, before they are rewritten. JudgePod judges them
// as they will be pulled, from the mirror, where a denied of docker.io/evil finds nothing. An image that a rule in mode
// enforce denies as it is written, by denied or deniedTags, is therefore not rewritten, so that JudgePod denies it.
// Evergate need not record that in the Pod, where a tenant could forge it, nor reverse a mirror, which may serve
// several sources.
//
// A rule in mode warn or audit does not prevent the rewriting, nor does one whose finding is exempt. Their findings are
// reported with it, unless they find the rewritten image too, which JudgePod reports.
type originalImages struct {
	policy   *Policy
	a        Attributes
	pod, old *Pod // old is the Pod before an update; nil when there is none
	effort   *Effort

	// The following are filled on first use, since most policies deny nothing.

	ready         bool
	subject       *subject
	exempt        exemptions
	exemptInOld   exemptions // of the Pod before the update
	rules         []originalsRule
	oldIdentities map[identity]bool // of the images of old

	found []Finding
}

// originalsRule is a rule that applies to the Pod, with those of its checks that deny.
type originalsRule struct {
	*ruleHeader
	checks  []eachImage
	existed bool // it applied to the Pod before the update too
}

// findDenying lists the checks that deny images, rule by rule.
func (p *Policy) findDenying() {
	pods := rulesFor[podView](p, Pods)
	for i := range pods.rules {
		checks := denying(pods.rules[i].checks)
		p.denying = append(p.denying, checks)
		p.denies = p.denies || len(checks) > 0
	}
}

// denying returns those checks of a rule that deny images by name or tag.
func denying(checks []check[podView]) []eachImage {
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

// judge judges the original of an image that out rewrites, or would. It changes out where a rule denies it.
func (o *originalImages) judge(out *ImageOutcome, ref match.Reference) {
	if out.Outcome != Rewritten && out.Outcome != WouldRewrite || len(o.applicable()) == 0 {
		return
	}
	img := podImage{Image: out.Image, ref: ref}
	before := len(o.found)
	var pulled *podImage // the rewritten image
	for _, rule := range o.rules {
		if rule.Mode != Enforce && (out.Outcome == WouldRewrite || len(o.found) >= maxFindings) {
			continue // JudgePod judges the image as it is written, or no more findings are kept
		}
		for _, c := range rule.checks {
			if !o.effort.spend(imageSteps + c.steps(&img)) {
				return
			}
			if c.passes(&img, o.subject) {
				continue
			}
			exempt := o.exempt.find(&rule.header, new(img.identity(c.id())))
			reportOnly := rule.Mode != Enforce || exempt != nil
			if reportOnly && (out.Outcome == WouldRewrite || len(o.found) >= maxFindings) ||
				exempt == nil && o.existed(rule, c, &img) {
				continue
			}
			if !reportOnly {
				out.Outcome, out.To, out.Detail = Denied, "", string(rule.Name)+"/"+c.id()+": "+c.fault(&img, o.subject)
				o.found = o.found[:before] // JudgePod judges the image as it is written
				return
			}
			if pulled == nil {
				pulled = new(newPodImage(Image{Ref: out.To}))
			}
			if o.effort.spend(c.steps(pulled)) && c.passes(pulled, o.subject) {
				o.report(rule, c, &img, out.To, exempt)
			}
		}
	}
}

// report adds the finding of a rule that does not deny about an image that is rewritten.
func (o *originalImages) report(rule originalsRule, c eachImage, img *podImage, to string, exempt *Exemption) {
	o.found = append(o.found, Finding{
		Rule: string(rule.Name), Check: c.id(), Mode: rule.Mode, Note: string(rule.Message), Exempt: exempt,
		Path: img.Path(), Reason: c.reason(img, o.subject) + ", but not once it is rewritten to " + to,
	})
}

// applicable returns the rules that apply to the Pod and can deny an image.
func (o *originalImages) applicable() []originalsRule {
	if o.ready {
		return o.rules
	}
	o.ready = true
	o.subject = new(newSubject(o.a, &o.pod.Meta, classes{}, o.effort))
	pods := rulesFor[podView](o.policy, Pods)
	o.exempt = exemptions{exceptions: pods.exceptions, subject: o.subject}
	if o.old != nil {
		before := newSubject(o.a, &o.old.Meta, classes{}, o.effort)
		o.exemptInOld = exemptions{exceptions: pods.exceptions, subject: &before}
	}
	for _, i := range pods.index.candidates(o.a.Namespace) {
		rule, checks := &pods.rules[i], o.policy.denying[i]
		if len(checks) == 0 || !o.effort.spend(1) || !rule.appliesTo(o.subject) {
			continue
		}
		applies := originalsRule{ruleHeader: &rule.ruleHeader, checks: checks}
		if o.old != nil {
			applies.existed = rule.appliesTo(o.exemptInOld.subject)
		}
		o.rules = append(o.rules, applies)
	}
	return o.rules
}

// existed reports whether a finding about an image is pre-existing: the rule has it about the Pod before the update
// too, where nothing in force silences it.
func (o *originalImages) existed(rule originalsRule, c eachImage, img *podImage) bool {
	return rule.existed && o.identitiesOfOld()[img.identity("")] &&
		o.exemptInOld.find(&rule.header, new(img.identity(c.id()))) == nil
}

// identitiesOfOld returns the identities of the images before the update, in whichever container: a finding about one
// of them is pre-existing, and does not deny.
func (o *originalImages) identitiesOfOld() map[identity]bool {
	if o.oldIdentities == nil {
		o.oldIdentities = make(map[identity]bool, len(o.old.Images))
		for _, old := range o.old.Images {
			before := newPodImage(old)
			o.oldIdentities[before.identity("")] = true
		}
	}
	return o.oldIdentities
}

// deniedBy returns the first check of an enforced rule, as rule/check, that denies an image by its name or its tag as
// it is written; empty for none. Evergate does not rewrite such an image, and the advice to write the image at its
// mirror would lead around the rule, or into the next denial. s is the subject of the Pod.
func (p *Policy) deniedBy(img *podImage, s *subject) string {
	policies := []*Policy{p.whole(), p}
	for _, q := range slices.Compact(policies) {
		pods := rulesFor[podView](q, Pods)
		exempt := exemptions{exceptions: pods.exceptions, subject: s}
		for _, i := range pods.index.candidates(s.namespace) {
			rule := &pods.rules[i]
			if len(q.denying[i]) == 0 || rule.Mode != Enforce || !exempt.spend(1) || !rule.appliesTo(s) {
				continue
			}
			for _, c := range q.denying[i] {
				if !exempt.spend(imageSteps + c.steps(img)) {
					return ""
				}
				if !c.passes(img, s) && exempt.find(&rule.header, new(img.identity(c.id()))) == nil {
					return string(rule.Name) + "/" + c.id()
				}
			}
		}
	}
	return ""
}
