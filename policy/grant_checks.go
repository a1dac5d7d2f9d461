package policy

import (
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// grantSide is a check of the elements of spec.from or of spec.to.
type grantSide[E any] interface {
	id() string
	// steps returns the number of steps for checking an element.
	steps(e *E) int
	passes(e *E) bool
	// field returns the field that does not pass in an element, and the sentence about it.
	field(e *E) (name, reason string)
}

// grantCheck finds the elements of one side that do not pass. The other side is nil.
//
// A grant is a pair of an element of spec.from and an element of spec.to. An update that adds an element creates a
// grant with every existing element of the other side. If all elements that do not pass are pre-existing, grantCheck
// therefore also finds the elements of the other side, because any of these may be an introduced finding.
type grantCheck struct {
	from grantSide[object.GrantFrom]
	to   grantSide[object.GrantTo]
}

func (c grantCheck) Find(g *grantView, r *rule.Recorder) {
	switch {
	case c.from != nil:
		if first := failing(c.from, "spec.from", g.From, grantFromIdentity, r); first != nil {
			reportOther(c.from.id(), "spec.to", g.To, grantToIdentity, r, func(t *object.GrantTo) string {
				return describeGrantTo(t) + " is granted to " + describeGrantFrom(first) +
					", which is not allowed; remove one of them"
			})
		}
	case c.to != nil:
		if first := failing(c.to, "spec.to", g.To, grantToIdentity, r); first != nil {
			reportOther(c.to.id(), "spec.from", g.From, grantFromIdentity, r, func(f *object.GrantFrom) string {
				return describeGrantFrom(f) + " is granted " + describeGrantTo(first) +
					", which is not allowed; remove one of them"
			})
		}
	}
}

// grantIdentity returns the identity of a finding about an element of spec.from or spec.to.
type grantIdentity[E any] func(e *E, check string) rule.Identity

// failing adds a finding for each element that does not pass, and returns the first such element. It returns nil if
// every element passes. It also returns nil if a finding is introduced, because the other side then does not need a
// sentence.
func failing[E any](
	c grantSide[E], list string, elements []E, of grantIdentity[E], r *rule.Recorder,
) (first *E) {
	introduced := false
	for i := range elements {
		e := &elements[i]
		if !r.Spend(c.steps(e)) {
			break
		}
		if c.passes(e) {
			continue
		}
		if first == nil {
			first = e
		}
		if f := r.TryAdd(of(e, c.id())); f != nil {
			field, reason := c.field(e)
			f.Path, f.Reason = list+"["+strconv.Itoa(i)+"]."+field, reason
			introduced = introduced || !f.Existed
		}
	}
	if introduced {
		return nil
	}
	return first
}

// reportOther adds a finding for each element of the other side.
func reportOther[E any](
	check, list string, elements []E, of grantIdentity[E], r *rule.Recorder, reason func(*E) string,
) {
	widened := check + " of the other side" // an element that itself does not pass has a different identity
	for i := range elements {
		e := &elements[i]
		id := of(e, widened)
		if !r.Spend(rule.StepsOf(1, id.Value)) {
			return
		}
		if f := r.TryAdd(id); f != nil {
			f.Check, f.Path, f.Reason = check, list+"["+strconv.Itoa(i)+"]", reason(e)
		}
	}
}

func grantFromIdentity(f *object.GrantFrom, check string) rule.Identity {
	return rule.Identity{Check: check, Value: f.Namespace, Detail: f.Kind, Use: f.Group}
}

func grantToIdentity(t *object.GrantTo, check string) rule.Identity {
	return rule.Identity{Check: check, Value: t.Name, Detail: t.Kind, Use: t.Group}
}

// grantFromNamespaces (from.namespaces) finds each spec.from[].namespace that no pattern matches.
type grantFromNamespaces struct {
	patterns []match.Glob
	passing  string
}

func (grantFromNamespaces) id() string { return "from.namespaces" }

func (c grantFromNamespaces) steps(f *object.GrantFrom) int {
	return rule.StepsOf(1+len(c.patterns), f.Namespace)
}

func (c grantFromNamespaces) passes(f *object.GrantFrom) bool {
	return match.AnyGlob(c.patterns, f.Namespace)
}

func (c grantFromNamespaces) field(f *object.GrantFrom) (name, reason string) {
	return "namespace", text.Quote(f.Namespace) + " is not allowed" + c.passing
}

// kindSteps returns the number of steps for comparing a kind with patterns.
func kindSteps(patterns []match.Glob, kind, group string) int {
	n := 1 + len(patterns)
	return rule.StepsOf(n, kind) + rule.StepsOf(n, group)
}

// grantFromKinds (from.kinds) finds each element of spec.from whose kind is not listed.
type grantFromKinds struct {
	kinds   []match.Glob
	passing string
}

func (grantFromKinds) id() string { return "from.kinds" }

func (c grantFromKinds) steps(f *object.GrantFrom) int { return kindSteps(c.kinds, f.Kind, f.Group) }

func (c grantFromKinds) passes(f *object.GrantFrom) bool {
	return match.AnyGlob(c.kinds, grantFromKind(f))
}

func (c grantFromKinds) field(f *object.GrantFrom) (name, reason string) {
	return "kind", text.Quote(grantFromKind(f)) + " is not allowed" + c.passing
}

// grantToKinds (to.kinds) finds each element of spec.to whose kind is not listed.
type grantToKinds struct {
	kinds   []match.Glob
	passing string
}

func (grantToKinds) id() string { return "to.kinds" }

func (c grantToKinds) steps(t *object.GrantTo) int { return kindSteps(c.kinds, t.Kind, t.Group) }

func (c grantToKinds) passes(t *object.GrantTo) bool { return match.AnyGlob(c.kinds, grantToKind(t)) }

func (c grantToKinds) field(t *object.GrantTo) (name, reason string) {
	return "kind", text.Quote(grantToKind(t)) + " is not allowed" + c.passing
}

// grantToNames (to.names) finds each element of spec.to without a name. Such an element grants all objects of its kind
// in the namespace, including future objects.
type grantToNames struct{}

func (grantToNames) id() string { return "to.names" }

func (grantToNames) steps(*object.GrantTo) int { return 1 }

func (grantToNames) passes(t *object.GrantTo) bool { return t.Name != "" }

func (grantToNames) field(t *object.GrantTo) (name, reason string) {
	return "name", "is not set, which grants every " + text.Quote(grantToKind(t)) + " in the namespace; set it"
}
