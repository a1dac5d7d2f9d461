package handlers

import (
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/telemetry"
)

// reviewing is what one path differs in from the others.
type reviewing struct {
	path  string
	judge judge
	mode  func(policy.Modes) policy.Mode // of the entries that concern it, the strictest
	guard bool                           // policies are reviewed here, apart from all others: see policy_guard.go
}

// reviews lists the paths. There is one for each webhook of the kit, so that each is scoped, traced and counted apart,
// and has connections of its own in the API server. The second chance to rewrite a Pod, and the status of Services, which always fails open, are the
// same in all but that.
func reviews() []reviewing {
	mirrors := func(m policy.Modes) policy.Mode { return m.Mirrors }
	return []reviewing{
		{path: "/mutate/pods", judge: judging(review.DecodePod, rewritePod), mode: mirrors},
		{path: "/mutate/pods/again", judge: judging(review.DecodePod, rewritePod), mode: mirrors},
		{
			path: "/validate/pods", judge: judging(review.DecodePod, finding((*policy.Policy).JudgePod)),
			mode: func(m policy.Modes) policy.Mode { return m.Pods },
		},
		{
			path: "/validate/ingresses", judge: judging(review.DecodeIngress, finding((*policy.Policy).JudgeIngress)),
			mode: func(m policy.Modes) policy.Mode { return m.Ingresses },
		},
		{
			path: "/validate/services", judge: judging(review.DecodeService, finding((*policy.Policy).JudgeService)),
			mode: func(m policy.Modes) policy.Mode { return m.Services },
		},
		{
			path: "/validate/policy", judge: judging(review.DecodeConfigMap, guardPolicy), guard: true,
			mode: func(policy.Modes) policy.Mode { return policy.Enforce },
		},
		{
			path: "/validate/services/status", judge: judging(review.DecodeService, finding((*policy.Policy).JudgeService)),
			mode: func(m policy.Modes) policy.Mode { return m.Services },
		},
	}
}

// judge decodes a review and decides it. Its error is a *review.Error, for what the caller did wrong, or a
// *review.ContentError, for what the object's content causes, which may be more than the effort allows.
type judge func(p *policy.Policy, body []byte, effort *policy.Effort, span *telemetry.ReviewSpan) (*verdict, error)

// verdict is what was decided about one review, and all that answer, log and metrics are made of. It belongs to
// its review alone.
type verdict struct {
	uid     string
	request policy.Attributes
	dryRun  bool
	policy  string // hash of the policy that decided

	findings  []policy.Finding
	rewriting policy.Rewriting
	patch     []review.Operation
	mistakes  []string   // of a policy that is refused, one each
	untold    int        // how many more there are
	notes     []string   // what else the user is to know
	unjudged  unreadable // zero when the object was judged

	encoded []byte // the answer as it is sent
}

// unreadable is what is wrong with an object that cannot be judged because of its own content: its size, its depth, a
// value of the wrong type.
type unreadable struct {
	why  string
	mode policy.Mode // what is done about it: denied only in mode enforce, like a finding
}

// judging composes a judge of a kind of object. Operations that bring no object are allowed: what is deleted or
// connected to was judged when it came.
func judging[T any](
	decode func([]byte) (*review.Request[T], error),
	decide func(*policy.Policy, *review.Request[T], *policy.Effort, *verdict) error,
) judge {
	return func(p *policy.Policy, body []byte, effort *policy.Effort, span *telemetry.ReviewSpan) (*verdict, error) {
		span.Stage("decode")
		r, err := decode(body)
		if err != nil {
			return nil, err
		}
		span.Stage("decide")
		v := &verdict{uid: r.UID, request: r.Attributes, dryRun: r.DryRun, policy: p.Hash()}
		if r.Object != nil && (r.Operation == policy.Create || r.Operation == policy.Update) {
			if err := decide(p, r, effort, v); err != nil {
				return nil, &review.ContentError{UID: r.UID, Msg: err.Error()}
			}
		}
		return v, nil
	}
}

// rewritePod decides where the images of a Pod are pulled from.
func rewritePod(p *policy.Policy, r *review.Request[policy.Pod], effort *policy.Effort, v *verdict) (err error) {
	if v.rewriting, err = p.RewritePod(r.Attributes, r.Object, r.Old, effort); err != nil {
		return err
	}
	v.findings = v.rewriting.Findings // none of which denies
	if v.rewriting.Changes() {
		// The ephemeralcontainers subresource changes no metadata, so the originals are not recorded there.
		v.patch, err = review.PatchPod(r.Object, v.rewriting, r.Subresource == "")
	}
	return err
}

// finding decides by the findings of a policy about an object.
func finding[T any](
	find func(p *policy.Policy, a policy.Attributes, obj, old *T, effort *policy.Effort) ([]policy.Finding, error),
) func(*policy.Policy, *review.Request[T], *policy.Effort, *verdict) error {
	return func(p *policy.Policy, r *review.Request[T], effort *policy.Effort, v *verdict) (err error) {
		v.findings, err = find(p, r.Attributes, r.Object, r.Old, effort)
		return err
	}
}

// denies says whether the request is refused.
func (v *verdict) denies() bool {
	if v.unjudged.mode == policy.Enforce || len(v.mistakes) > 0 {
		return true
	}
	for i := range v.findings {
		if v.findings[i].Denies() {
			return true
		}
	}
	return false
}
