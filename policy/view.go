package policy

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// view is the common part of the views of all kinds. The view of a kind contains an object and the values that checks
// parse from it. Each value is parsed once, on first use, for all rules.
type view struct {
	known *claim.Annotations // of the policy; nil for the default annotations
	// solver is true if checks that do not apply to solvers skip the object. See prepareViews.
	solver         bool
	infrastructure map[string]string // spec.infrastructure.annotations of a Gateway
	annotations    []annotation      // see annotationsInEffect
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
) func(r *rule.Recorder, obj, old *T) {
	known, solvers := c.known, c.solvers
	return func(r *rule.Recorder, obj, old *T) {
		P(obj).base().known = known
		if old != nil {
			P(old).base().known = known
		}
		if isSolver == nil || len(solvers) == 0 {
			return
		}
		is := isSolver(obj, r)
		P(obj).base().solver = is && slices.Contains(solvers, r.Subject.User)
		if old != nil {
			P(old).base().solver = !is && isSolver(old, r)
		}
	}
}

// annotation is one annotation of an object. lower is its key in lower case. field is the field that contains it, or
// empty for metadata.annotations.
type annotation struct{ key, value, lower, field string }

// infrastructureAnnotations is the field of a Gateway whose annotations its controller puts on the Service that it
// creates.
const infrastructureAnnotations = "spec.infrastructure.annotations"

// annotationsInEffect returns the annotations in m, and then the annotations that the object puts on other objects,
// each sorted by key. The same object therefore always has the same findings in the same order. Every check that reads
// annotations by a pattern uses it.
func (v *view) annotationsInEffect(m *object.Meta, r *rule.Recorder) []annotation {
	n := len(m.Annotations) + len(v.infrastructure)
	if v.annotations == nil && n > 0 && r.Spend(2*n) {
		v.annotations = make([]annotation, 0, n)
		v.addAnnotations(m.Annotations, "")
		v.addAnnotations(v.infrastructure, infrastructureAnnotations)
	}
	return v.annotations
}

// addAnnotations adds the annotations in a field, sorted by key.
func (v *view) addAnnotations(all map[string]string, field string) {
	before := len(v.annotations)
	for key, value := range all {
		if v.solver && addedToSolver(key, value) {
			continue
		}
		lower := key
		if len(key) <= object.MaxAnnotationKey { // no longer key is stored
			lower = match.LowerASCII(key)
		}
		v.annotations = append(v.annotations, annotation{key, value, lower, field})
	}
	slices.SortFunc(v.annotations[before:], func(a, b annotation) int { return strings.Compare(a.key, b.key) })
}

// identity returns the identity of a finding about the annotation. It includes the value, because a pre-existing
// snippet must not exempt a different one, and the field, because another object gets the annotation.
func (a annotation) identity(check string) rule.Identity {
	return rule.Identity{Check: check, Value: a.key, Detail: a.value, Use: a.field}
}

func (a annotation) path() string {
	if a.field == "" {
		return annotationPath(a.key)
	}
	return a.field + "[" + text.QuoteUpTo(object.MaxAnnotationKey, a.key) + "]"
}
