// Package admission decides reviews. It turns a review and a policy into a Decision, and a Decision into the answer to
// the API server. It knows nothing of HTTP: package handlers serves it, package offline calls it for files.
//
//	kinds.go         the table: each kind of objects that is judged, and each path that the API server calls
//	admission.go     one review: decode → decide → Decision
//	pods.go          rewriting the images of a Pod
//	policy_guard.go  reviews of the policy itself
//	sets.go          the paths of sets of rules
//	decision.go      what was decided, and whether it denies or warns
//	response.go      a Decision as a message, warnings and a patch
//	audit.go         a Decision as audit annotations
//	lines.go         truncated lists
//	offline.go       all webhooks of a kind, one after another
package admission

import (
	"errors"
	"time"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// Stage is called with the name of each step of a review as the step begins.
type Stage func(name string)

// decideFunc adds to a decision what a policy decides about the object of a request. An error means that the object
// cannot be judged.
type decideFunc[T any] func(p *policy.Policy, r *review.Request[T], e *policy.Effort, d *Decision) error

// judgeBy returns what decodes a review and decides it. Operations without a new object are allowed: what is deleted or
// connected to was judged when it was created.
func (k kind[T]) judgeBy(decide decideFunc[T]) Judge {
	return func(p *policy.Policy, body []byte, now time.Time, e *policy.Effort, stage Stage) (*Decision, error) {
		stage("decode")
		r, err := k.objectsIn(p).Decode(body)
		if err != nil {
			return nil, err
		}
		r.Now = now
		stage("decide")
		d := &Decision{UID: r.UID, Attributes: r.Attributes, DryRun: r.DryRun, Policy: p.Hash()}
		if r.Object != nil && judged(r.Operation) {
			if err := decide(p, r, e, d); err != nil {
				return nil, &review.ContentError{UID: r.UID, Msg: err.Error()}
			}
		}
		return d, nil
	}
}

// judged reports whether a policy applies to an operation.
func judged(o policy.Operation) bool { return o == policy.Create || o == policy.Update }

// Decide decodes the review in body and decides it by the rules of p that are in a set, or, where it is empty, in none.
// Exceptions that have ended at now are none. What the decision keeps of body is a copy. The error is a *review.Error,
// for what the client did wrong.
func (w *Webhook) Decide(
	p *policy.Policy, set string, body []byte, now time.Time, e *policy.Effort, stage Stage,
) (*Decision, error) {
	rules := w.policyOf(p, set)
	unknown := rules == nil
	if unknown {
		rules = p // for what a decision says beside its findings
	}
	d, err := w.Judge(rules, body, now, e, stage)
	if content, ok := errors.AsType[*review.ContentError](err); ok {
		return w.Unjudged(p, set, content.UID, content.Msg, !content.Oversized && review.Unchanged(body)), nil
	}
	if err == nil && unknown && judged(d.Operation) {
		u := w.Unjudged(p, set, d.UID, w.unknownSet(set), review.Unchanged(body))
		u.Attributes, u.DryRun = d.Attributes, d.DryRun
		return u, nil
	}
	return d, err
}

// Unjudged decides on an object that cannot be judged because of its own content, by the strictest entry that might
// have matched it: a policy in which nothing is enforced yet denies nothing, and says what it would have denied.
//
// An update is no exception, although the object may have been as it is before. What cannot be read cannot be compared,
// so an object that once got in like this could be changed into anything. It can still be deleted, and what is
// unchanged in all that could be judged is warned of at most: its finalizers can be removed.
func (w *Webhook) Unjudged(p *policy.Policy, set, uid, why string, unchanged bool) *Decision {
	d := &Decision{UID: uid, Policy: p.Hash()}
	mode := w.strictest(p, set)
	if unchanged {
		mode = min(mode, policy.Warn)
	}
	if mode != policy.Off {
		d.Unjudged = Unjudged{text.Printable(why, MaxSentence), mode}
	}
	return d
}
