package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// selector is a match or an exclude of an entry. Within one dimension any element suffices. A match needs all of the
// dimensions that it names; an exclude needs one of them.
type selector struct {
	Namespaces []match.Glob         `yaml:"namespaces"` // names, * for any run of characters
	Users      []match.Glob         `yaml:"users"`      // as the API server names them
	Groups     []match.Glob         `yaml:"groups"`
	PodLabels  []labelPattern       `yaml:"podLabels"` // key or key=value
	Images     []match.ImagePattern `yaml:"images"`    // exclude only: the images of a Pod that are let be
}

// labelPattern is a label key that must be there, or a key and a pattern for its value: app, app=web-*.
type labelPattern struct {
	key      string
	value    match.Glob
	anyValue bool
}

func (l *labelPattern) UnmarshalText(b []byte) error {
	key, value, has := strings.Cut(string(b), "=")
	if key == "" || strings.Contains(key, "*") {
		return fmt.Errorf("%s is not a label: write key or key=value", text.Quote(b))
	}
	if err := match.RefuseControl(b, "pattern"); err != nil {
		return err
	}
	*l = labelPattern{key, match.Glob(value), !has}
	return nil
}

func (l labelPattern) match(labels map[string]string) bool {
	v, ok := labels[l.key]
	return ok && (l.anyValue || l.value.Match(v))
}

func (l labelPattern) String() string {
	if l.anyValue {
		return l.key
	}
	return l.key + "=" + string(l.value)
}

// subject is what selectors look at.
type subject struct {
	namespace, user string
	groups          []string
	podLabels       map[string]string

	groupBytes int     // of all groups
	effort     *Effort // what selectors take; nil does not count
}

func newSubject(a Attributes, m *Meta, e *Effort) subject {
	s := subject{namespace: a.Namespace, user: a.User, groups: a.Groups, podLabels: m.Labels, effort: e}
	for _, g := range s.groups {
		s.groupBytes += len(g)
	}
	return s
}

// spend counts the steps that misses or hits takes, and returns whether it may go on.
func (sel *selector) spend(s *subject) bool {
	n := stepsOf(len(sel.Namespaces), s.namespace) + stepsOf(len(sel.Users), s.user)
	n += len(s.groups) + len(sel.Groups)*(len(s.groups)+s.groupBytes/stepBytes)
	for _, l := range sel.PodLabels {
		n += stepsOf(1, s.podLabels[l.key])
	}
	return s.effort == nil || s.effort.spend(n)
}

// skip says why an entry does not look at an object; its zero value says that it does.
type skip struct {
	excluded  bool   // by exclude, rather than not covered by match
	dimension string // namespaces, users, groups, podLabels
	pattern   string // that excluded it
	value     string // what was compared
	groups    []string
}

func (s skip) String() string {
	switch {
	case s.dimension == "":
		return "applies"
	case s.excluded:
		return fmt.Sprintf("excluded: exclude.%s has %s", s.dimension, s.pattern)
	case s.groups != nil:
		return fmt.Sprintf("not matched: match.groups does not cover %s", text.Quote(text.List(s.groups)))
	case s.value == "":
		return fmt.Sprintf("not matched by match.%s", s.dimension)
	}
	return fmt.Sprintf("not matched: match.%s does not cover %s", s.dimension, text.Quote(s.value))
}

// tooCostly ends what is done with a selector. The Effort has the error.
var tooCostly = skip{dimension: "effort"}

// misses returns the first dimension of a match that s does not meet.
func (sel *selector) misses(s *subject) skip {
	if sel == nil {
		return skip{}
	}
	if !sel.spend(s) {
		return tooCostly
	}
	if sel.Namespaces != nil {
		if _, ok := match.FirstGlob(sel.Namespaces, s.namespace); !ok {
			return skip{dimension: "namespaces", value: s.namespace}
		}
	}
	if sel.Users != nil {
		if _, ok := match.FirstGlob(sel.Users, s.user); !ok {
			return skip{dimension: "users", value: s.user}
		}
	}
	if sel.Groups != nil && !slices.ContainsFunc(s.groups, func(g string) bool { _, ok := match.FirstGlob(sel.Groups, g); return ok }) {
		return skip{dimension: "groups", groups: s.groups}
	}
	if sel.PodLabels != nil && !slices.ContainsFunc(sel.PodLabels, func(l labelPattern) bool { return l.match(s.podLabels) }) {
		return skip{dimension: "podLabels"}
	}
	return skip{}
}

// hits returns the first dimension of an exclude that s meets. Images are not its business: an entry that excludes
// an image still looks at the others.
func (sel *selector) hits(s *subject) skip {
	if sel == nil {
		return skip{}
	}
	if !sel.spend(s) {
		return tooCostly
	}
	if g, ok := match.FirstGlob(sel.Namespaces, s.namespace); ok {
		return skip{excluded: true, dimension: "namespaces", pattern: string(g)}
	}
	if g, ok := match.FirstGlob(sel.Users, s.user); ok {
		return skip{excluded: true, dimension: "users", pattern: string(g)}
	}
	for _, group := range s.groups {
		if g, ok := match.FirstGlob(sel.Groups, group); ok {
			return skip{excluded: true, dimension: "groups", pattern: string(g)}
		}
	}
	for _, l := range sel.PodLabels {
		if l.match(s.podLabels) {
			return skip{excluded: true, dimension: "podLabels", pattern: l.String()}
		}
	}
	return skip{}
}

// dimensions says which dimensions of a selector have a meaning for a kind of entry.
type dimensions struct{ requester, podLabels, images bool }

// refuse returns an error for each dimension of a selector that has no meaning, with the reason.
func (d dimensions) refuse(sel *selector, isMatch bool) []error {
	if sel == nil {
		return nil
	}
	var errs []error
	fail := func(field, why string) {
		errs = append(errs, strict.Fieldf(selectorName(isMatch), "%s %s", field, why))
	}
	if !d.requester {
		const why = "has no meaning here: Pods are created by controllers, not by people; use namespaces or podLabels"
		if sel.Users != nil {
			fail("users", why)
		}
		if sel.Groups != nil {
			fail("groups", why)
		}
	}
	if !d.podLabels && sel.PodLabels != nil {
		fail("podLabels", "has no meaning here: only entries of mirrors and pods look at Pods")
	}
	switch {
	case sel.Images == nil:
	case !d.images:
		fail("images", "has no meaning here: only entries of mirrors and pods look at images")
	case isMatch:
		fail("images", "has no meaning in match: which images an entry looks at is said by its own fields")
	}
	if !isMatch {
		errs = append(errs, sel.refuseEmpty()...)
	}
	return errs
}

// refuseEmpty returns an error for each list of an exclude that excludes nothing.
func (sel *selector) refuseEmpty() []error {
	var errs []error
	for _, list := range []struct {
		name  string
		empty bool
	}{
		{"namespaces", sel.Namespaces != nil && len(sel.Namespaces) == 0},
		{"users", sel.Users != nil && len(sel.Users) == 0},
		{"groups", sel.Groups != nil && len(sel.Groups) == 0},
		{"podLabels", sel.PodLabels != nil && len(sel.PodLabels) == 0},
		{"images", sel.Images != nil && len(sel.Images) == 0},
	} {
		if list.empty {
			errs = append(errs, strict.Fieldf("exclude", "%s: [] excludes nothing: leave the field out", list.name))
		}
	}
	return errs
}

func selectorName(isMatch bool) string {
	if isMatch {
		return "match"
	}
	return "exclude"
}
