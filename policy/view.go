package policy

import (
	"slices"

	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// view is the common part of the views of all kinds. The view of a kind contains an object and the values that checks
// parse from it. Each value is parsed once, on first use, for all rules.
type view struct {
	known *claim.Annotations // of the policy; nil for the default annotations
	// solver is true if checks that do not apply to solvers skip the object. See prepareViews.
	solver      bool
	annotations []annotation // see sortedAnnotations
}

func (v *view) base() *view { return v }

// Classes returns no classes. Kinds whose objects have classes define their own method.
func (*view) Classes() [2]string { return [2]string{} }

// kindView is a pointer to the view of an object of a kind.
type kindView[T any] interface {
	rule.ViewOf[T]
	base() *view
}

// prepareViews returns a function that completes the views of an object and of the object before an update. isSolver
// reports whether an object has the shape of an ACME challenge solver. It is nil for kinds without solvers.
//
// An object with this shape is a solver if one of the accounts in the policy writes it. If the update turns a solver
// into something else, checks skip the old object, so its findings do not count as pre-existing. Otherwise, a tenant
// could turn a solver into an ordinary Ingress without TLS.
func prepareViews[T any, P kindView[T]](
	c *compilation, isSolver func(*T, *rule.Recorder) bool,
) func(a object.Attributes, obj *T, r *rule.Recorder, old *T, before *rule.Recorder) {
	known, solvers := c.known, c.solvers
	return func(a object.Attributes, obj *T, r *rule.Recorder, old *T, before *rule.Recorder) {
		P(obj).base().known = known
		if old != nil {
			P(old).base().known = known
		}
		if isSolver == nil || len(solvers) == 0 {
			return
		}
		is := isSolver(obj, r)
		P(obj).base().solver = is && slices.Contains(solvers, a.User)
		if old != nil {
			P(old).base().solver = !is && isSolver(old, before)
		}
	}
}
