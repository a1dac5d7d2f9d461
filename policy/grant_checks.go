package policy

import (
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// grantCheck is one of these checks:
//
//   - from.namespaces finds each spec.from[].namespace that no pattern matches.
//   - from.kinds finds each element of spec.from whose kind no pattern matches.
//   - to.kinds finds each element of spec.to whose kind no pattern matches.
//   - to.names finds each element of spec.to without a name. Such an element grants all objects of its kind in the
//     namespace, including future objects.
//
// A grant is a pair of an element of spec.from and an element of spec.to. An update that adds an element creates a
// grant with every existing element of the other side. If all elements that do not pass are pre-existing, grantCheck
// therefore also finds the elements of the other side, because any of these may be an introduced finding.
type grantCheck struct {
	id       string
	side     grantSide
	field    string // the field of an element: namespace, kind or name
	patterns []match.Glob
}

// grantSide is a list of a ReferenceGrant. Its value is the path of the list.
type grantSide string

const (
	grantFrom grantSide = "spec.from"
	grantTo   grantSide = "spec.to"
)

func (s grantSide) of(g *grantView) (side, other []object.GrantElement) {
	if s == grantFrom {
		return g.From, g.To
	}
	return g.To, g.From
}

// kind returns the kind of an element in the form that policy files use. A dot and the group follow the kind, except
// for the usual group of the side. It truncates texts that are longer than a valid kind or group.
func (s grantSide) kind(e *object.GrantElement) string {
	if s == grantFrom && e.Group == gatewayGroup || s == grantTo && e.Group == "" {
		return e.Kind
	}
	return text.Truncate(e.Kind, maxLabel) + "." + text.Truncate(e.Group, match.MaxHost)
}

// maxLabel is the length of the longest kind in bytes, which is the length of a DNS label.
const maxLabel = 63

// describe returns the objects that receive the grant, HTTPRoute of "team-a", or the granted objects: Secret "web", or
// Secret for all Secrets.
func (s grantSide) describe(e *object.GrantElement) string {
	kind := text.Truncate(s.kind(e), text.Short)
	switch {
	case s == grantFrom:
		return kind + " of " + text.Quote(e.Name)
	case e.Name == "":
		return kind
	}
	return kind + " " + text.Quote(e.Name)
}

func (c grantCheck) Find(g *grantView, r *rule.Recorder) {
	elements, other := c.side.of(g)
	var first *object.GrantElement // that does not pass
	introduced := false
	for i := range elements {
		e := &elements[i]
		if !r.Spend(c.steps(e)) {
			break
		}
		value, passes := c.evaluate(e)
		if passes {
			continue
		}
		if first == nil {
			first = e
		}
		if f := r.TryAdd(grantIdentity(e, c.id)); f != nil {
			f.Path, f.Reason = string(c.side)+"["+strconv.Itoa(i)+"]."+c.field, c.reason(e, value)
			introduced = introduced || !f.Existed
		}
	}
	if first != nil && !introduced {
		c.reportOther(first, other, r)
	}
}

func grantIdentity(e *object.GrantElement, check string) rule.Identity {
	return rule.Identity{Check: check, Value: e.Name, Detail: e.Kind, Use: e.Group}
}

func (c grantCheck) steps(e *object.GrantElement) int {
	n := 1 + len(c.patterns)
	if c.field == "kind" {
		return rule.StepsOf(n, e.Kind) + rule.StepsOf(n, e.Group)
	}
	return rule.StepsOf(n, e.Name)
}

// evaluate returns the value that is checked in an element, and whether it passes.
func (c grantCheck) evaluate(e *object.GrantElement) (value string, passes bool) {
	switch c.field {
	case "name":
		return "", e.Name != ""
	case "kind":
		value = c.side.kind(e)
	default:
		value = e.Name
	}
	return value, match.AnyGlob(c.patterns, value)
}

// reason returns the sentence about an element with a value that does not pass.
func (c grantCheck) reason(e *object.GrantElement, value string) string {
	if c.field == "name" {
		return "is not set, which grants every " + text.Quote(c.side.kind(e)) + " in the namespace; set it"
	}
	return text.Quote(value) + " is not allowed" + rule.Passing(c.patterns)
}

// reportOther adds a finding for each element of the other side. first is an element of this side that does not pass.
func (c grantCheck) reportOther(first *object.GrantElement, other []object.GrantElement, r *rule.Recorder) {
	list, granted := grantFrom, " is granted "
	if c.side == grantFrom {
		list, granted = grantTo, " is granted to "
	}
	for i := range other {
		id := grantIdentity(&other[i], c.id+" of the other side") // differs if the element itself does not pass
		if !r.Spend(rule.StepsOf(1, id.Value)) {
			return
		}
		if f := r.TryAdd(id); f != nil {
			f.Check, f.Path = c.id, string(list)+"["+strconv.Itoa(i)+"]"
			f.Reason = list.describe(&other[i]) + granted + c.side.describe(first) +
				", which is not allowed; remove one of them"
		}
	}
}
