// Package admission decides reviews. It evaluates a review against a policy, which gives a Decision, and converts the
// Decision into the response to the API server. It does not use HTTP. Package handlers serves it, and package offline
// calls it for files.
//
//	kinds.go         the table of kinds: the objects that are evaluated, and the paths that the API server calls
//	admission.go     one review: decode → decide → Decision
//	pods.go          rewriting the images of a Pod
//	policy_guard.go  reviews of the policy itself
//	sets.go          the paths of rule sets
//	decision.go      the Decision, and whether it denies or warns
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
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
)

// Stage is called when a step of a review begins, with the name of the step.
type Stage func(name string)

// decideFunc evaluates the object of a request against a policy and adds the results to a decision. An error means that
// the object cannot be evaluated.
type decideFunc[T any] func(p *policy.Policy, r *review.Request[T], e *policy.Effort, d *Decision) error

// evaluateBy returns a function that decodes a review and decides it. Operations without a new object are allowed. An
// object that is deleted or connected to was evaluated when it was created.
func (k kind[T]) evaluateBy(decide decideFunc[T]) EvaluateFunc {
	return func(p *policy.Policy, body []byte, now time.Time, e *policy.Effort, stage Stage) (*Decision, error) {
		stage("decode")
		r, err := k.objectsIn(p).Decode(body)
		if err != nil {
			return nil, err
		}
		r.Now = now
		stage("decide")
		d := &Decision{Head: r.Head, Policy: p.Hash()}
		if r.Object != nil && isValidated(r.Operation) {
			if err := decide(p, r, e, d); err != nil {
				return nil, &review.ContentError{Head: d.Head, Msg: err.Error()}
			}
		}
		return d, nil
	}
}

// isValidated reports whether a policy applies to an operation.
func isValidated(o object.Operation) bool { return o == object.Create || o == object.Update }

// Decide evaluates the review in body against the rules of p in the named rule set, or the rules outside any set if set
// is empty. Exceptions that expired before now do not apply. The Decision does not retain body. The error is a
// *review.Error, which explains the client's mistake.
func (w *Webhook) Decide(
	p *policy.Policy, set string, body []byte, now time.Time, e *policy.Effort, stage Stage,
) (*Decision, error) {
	rules := w.policyOf(p, set)
	unknown := rules == nil
	if unknown {
		rules = p // for the parts of a decision other than its findings
	}
	d, err := w.Evaluate(rules, body, now, e, stage)
	if content, ok := errors.AsType[*review.ContentError](err); ok {
		return w.Unevaluated(p, set, content.Head, content.Msg, !content.Oversized && review.Unchanged(body)), nil
	}
	if err == nil && unknown && isValidated(d.Operation) {
		return w.Unevaluated(p, set, d.Head, w.unknownSet(set), review.Unchanged(body)), nil
	}
	return d, err
}

// Unevaluated decides about an object that cannot be evaluated because of its content. The strictest entry that might
// match the object determines the decision. If the policy does not enforce anything yet, the object is not denied, and
// the decision contains the reason for which it would have been.
//
// This also applies to updates, although the object may have been the same before. The two versions of an object that
// cannot be read cannot be compared, so such an object could be changed into anything. It can still be deleted. If an
// update changes nothing that could be evaluated, it causes at most a warning, so the object's finalizers can be
// removed.
func (w *Webhook) Unevaluated(p *policy.Policy, set string, h review.Head, why string, unchanged bool) *Decision {
	d := &Decision{Head: h, Policy: p.Hash()}
	mode := w.strictest(p, set)
	if unchanged {
		mode = min(mode, policy.Warn)
	}
	if mode != policy.Off {
		d.Unevaluated = Unevaluated{text.Printable(why, MaxSentence), mode}
	}
	return d
}
