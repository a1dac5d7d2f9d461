package policy

import (
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
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
	from grantSide[GrantFrom]
	to   grantSide[GrantTo]
}

func (c grantCheck) find(g *grantView, r *report) {
	switch {
	case c.from != nil:
		if first := failing(c.from, "spec.from", g.From, r); first != nil {
			beside(c.from.id(), "spec.to", g.To, r, func(t *GrantTo) string {
				return t.String() + " is granted to " + first.String() + ", which is not allowed; remove one of them"
			})
		}
	case c.to != nil:
		if first := failing(c.to, "spec.to", g.To, r); first != nil {
			beside(c.to.id(), "spec.from", g.From, r, func(f *GrantFrom) string {
				return f.String() + " is granted " + first.String() + ", which is not allowed; remove one of them"
			})
		}
	}
}

// grantElement is a pointer to an element of spec.from or spec.to.
type grantElement[E any] interface {
	*E
	identity(check string) identity
}

// failing adds a finding for each element that does not pass, and returns the first such element. It returns nil if
// every element passes. It also returns nil if a finding is introduced, because the other side then does not need a
// sentence.
func failing[E any, P grantElement[E]](c grantSide[E], list string, elements []E, r *report) (first *E) {
	introduced := false
	for i := range elements {
		e := &elements[i]
		if !r.spend(c.steps(e)) {
			break
		}
		if c.passes(e) {
			continue
		}
		if first == nil {
			first = e
		}
		if f := r.tryAdd(P(e).identity(c.id())); f != nil {
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

// beside adds a finding for each element of the other side.
func beside[E any, P grantElement[E]](check, list string, elements []E, r *report, reason func(*E) string) {
	widened := check + " of the other side" // an element that itself does not pass has a different identity
	for i := range elements {
		e := &elements[i]
		id := P(e).identity(widened)
		if !r.spend(stepsOf(1, id.value)) {
			return
		}
		if f := r.tryAdd(id); f != nil {
			f.Check, f.Path, f.Reason = check, list+"["+strconv.Itoa(i)+"]", reason(e)
		}
	}
}

func (f *GrantFrom) identity(check string) identity {
	return identity{check: check, value: f.Namespace, detail: f.Kind, use: f.Group}
}

func (t *GrantTo) identity(check string) identity {
	return identity{check: check, value: t.Name, detail: t.Kind, use: t.Group}
}

// grantFromNamespaces (from.namespaces) finds each spec.from[].namespace that no pattern matches.
type grantFromNamespaces struct {
	patterns []match.Glob
	passing  string
}

func (grantFromNamespaces) id() string { return "from.namespaces" }

func (c grantFromNamespaces) steps(f *GrantFrom) int { return stepsOf(1+len(c.patterns), f.Namespace) }

func (c grantFromNamespaces) passes(f *GrantFrom) bool { return matchesAny(c.patterns, f.Namespace) }

func (c grantFromNamespaces) field(f *GrantFrom) (name, reason string) {
	return "namespace", text.Quote(f.Namespace) + " is not allowed" + c.passing
}

// kindSteps returns the number of steps for comparing a kind with patterns.
func kindSteps(patterns []match.Glob, kind, group string) int {
	n := 1 + len(patterns)
	return stepsOf(n, kind) + stepsOf(n, group)
}

// grantFromKinds (from.kinds) finds each element of spec.from whose kind is not listed.
type grantFromKinds struct {
	kinds   []match.Glob
	passing string
}

func (grantFromKinds) id() string { return "from.kinds" }

func (c grantFromKinds) steps(f *GrantFrom) int { return kindSteps(c.kinds, f.Kind, f.Group) }

func (c grantFromKinds) passes(f *GrantFrom) bool { return matchesAny(c.kinds, f.kind()) }

func (c grantFromKinds) field(f *GrantFrom) (name, reason string) {
	return "kind", text.Quote(f.kind()) + " is not allowed" + c.passing
}

// grantToKinds (to.kinds) finds each element of spec.to whose kind is not listed.
type grantToKinds struct {
	kinds   []match.Glob
	passing string
}

func (grantToKinds) id() string { return "to.kinds" }

func (c grantToKinds) steps(t *GrantTo) int { return kindSteps(c.kinds, t.Kind, t.Group) }

func (c grantToKinds) passes(t *GrantTo) bool { return matchesAny(c.kinds, t.kind()) }

func (c grantToKinds) field(t *GrantTo) (name, reason string) {
	return "kind", text.Quote(t.kind()) + " is not allowed" + c.passing
}

// grantToNames (to.names) finds each element of spec.to without a name. Such an element grants all objects of its kind
// in the namespace, including future objects.
type grantToNames struct{}

func (grantToNames) id() string { return "to.names" }

func (grantToNames) steps(*GrantTo) int { return 1 }

func (grantToNames) passes(t *GrantTo) bool { return t.Name != "" }

func (grantToNames) field(t *GrantTo) (name, reason string) {
	return "name", "is not set, which grants every " + text.Quote(t.kind()) + " in the namespace; set it"
}
