package rule

import (
	"fmt"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/object"
)

// Selector is the match or the exclude block of an entry. Within one dimension, one matching element suffices. A match
// applies if all of its dimensions match. An exclude applies if one of its dimensions matches.
type Selector struct {
	// Namespaces lists namespaces, with * for any run of characters.
	Namespaces []match.Glob `yaml:"namespaces"`
	// Users lists users that send the request, as the API server writes them, with * for any run of characters.
	Users []match.Glob `yaml:"users"`
	// Groups lists groups, with * for any run of characters. The user must be in a listed group.
	Groups []match.Glob `yaml:"groups"`
	// PodLabels lists Pod labels: a key, or key=value, with * for any run of characters in the value.
	PodLabels []labelPattern `yaml:"podLabels"`
	// Images lists images that are exempt: a registry, a path in it, or one image. Other images of the same Pod are not
	// exempt.
	Images []match.ImagePattern `yaml:"images"`
	// Labels lists the object's labels: a key, or key=value, with * for any run of characters in the value.
	Labels []labelPattern `yaml:"labels"`

	// ClassNames lists Ingress classes, from spec.ingressClassName or from the annotation, with * for any run of
	// characters. An object with two classes is excluded only if both match.
	ClassNames []match.Glob `yaml:"classNames"`
	// LoadBalancerClasses lists values of spec.loadBalancerClass of Services, with * for any run of characters.
	LoadBalancerClasses []match.Glob `yaml:"loadBalancerClasses"`
	// GatewayClassNames lists Gateway classes, with * for any run of characters. A match also covers objects without a
	// class.
	GatewayClassNames []match.Glob `yaml:"gatewayClassNames"`

	// Set is the rule set that the entry is in, a DNS label. The path of a webhook contains the name of the rule set, and
	// the rules of the set evaluate the objects that this webhook sends. Absent: the entry evaluates the objects that are
	// sent to the path of its kind.
	Set setName `yaml:"set"`

	// Until is when an exclude ends: a date, which ends with that day in UTC, or a time in RFC 3339 format. Until then,
	// excluded objects are evaluated, and their findings are exempt. Absent: the exclude does not end, and excluded
	// objects are not evaluated.
	Until *Moment `yaml:"until"`
	// Reason is why the exclude exists, in one line. Reports show it.
	Reason reason `yaml:"reason"`
}

// Subject contains the values that selectors compare: the attributes of a request, and the labels and classes of an
// object.
type Subject struct {
	object.Attributes
	Labels  map[string]string
	classes [2]string // see ViewOf

	Template bool // the object is a workload's template: a controller may fill in images before it creates a Pod

	groupBytes int     // the total length of all groups
	Effort     *Effort // counts the steps of selectors; nil does not count or limit them

	exemptions
}

// NewSubject returns the subject of an object with the given metadata and classes.
func NewSubject(a object.Attributes, m *object.Meta, c [2]string, e *Effort) Subject {
	s := Subject{Attributes: a, Labels: m.Labels, classes: c, Effort: e}
	for _, g := range s.Groups {
		s.groupBytes += len(g)
	}
	return s
}

// hasLabel reports whether one of the labels matches a pattern.
func (s *Subject) hasLabel(l labelPattern) bool {
	v, ok := s.Labels[l.key]
	return ok && (l.anyValue || l.value.Match(v))
}

// hasClass reports whether one of the classes matches a pattern.
func (s *Subject) hasClass(patterns []match.Glob) bool {
	return slices.ContainsFunc(s.classes[:], func(c string) bool { return c != "" && match.AnyGlob(patterns, c) })
}

// classExcludedBy returns a pattern that matches a class, if the patterns match every class of the object. If the
// patterns match only the first of two classes, the second may be the active class.
func (s *Subject) classExcludedBy(patterns []match.Glob) (by match.Glob, excluded bool) {
	for _, c := range s.classes {
		if c == "" {
			continue
		}
		if by, excluded = match.FirstGlob(patterns, c); !excluded {
			return "", false
		}
	}
	return by, excluded
}

// spend counts the steps of matches or excludes, and reports whether they may be taken.
func (sel *Selector) spend(s *Subject) bool {
	n := StepsOf(len(sel.Namespaces), s.Namespace) + StepsOf(len(sel.Users), s.User)
	n += len(s.Groups) + len(sel.Groups)*(len(s.Groups)+s.groupBytes/StepBytes)
	for _, labels := range [][]labelPattern{sel.PodLabels, sel.Labels} {
		for _, l := range labels {
			n += StepsOf(1, s.Labels[l.key])
		}
	}
	for _, c := range s.classes {
		n += StepsOf(len(sel.ClassNames)+len(sel.LoadBalancerClasses)+len(sel.GatewayClassNames), c)
	}
	return s.Effort.Spend(n) == nil
}

// selectorResult is why an entry does not apply to an object. It is formatted only when it is shown. The zero value
// means that the entry applies.
type selectorResult struct {
	excluded  bool   // an exclude excludes the object; otherwise, a match does not match it
	dimension string // until, kinds, namespaces, users, groups, podLabels, labels, classNames, …
	pattern   string // the pattern that excludes the object
	value     string // the value that the match does not cover
	groups    []string
	why       string // the reason field of the exclude; may be empty
}

// String returns the result as review --explain shows it.
func (s selectorResult) String() string {
	switch {
	case s.dimension == "":
		return "applies"
	case s.dimension == untilDimension:
		return "ended: the entry has until: " + s.value
	case s.dimension == kindsDimension:
		return "not matched: kinds does not have " + s.value
	case s.excluded && s.why != "":
		return fmt.Sprintf("excluded: exclude.%s has %s: %s", s.dimension, s.pattern, s.why)
	case s.excluded:
		return fmt.Sprintf("excluded: exclude.%s has %s", s.dimension, s.pattern)
	case s.groups != nil:
		return fmt.Sprintf("not matched: match.groups does not cover %s", text.Quote(text.List(s.groups)))
	case s.value == "":
		return fmt.Sprintf("not matched by match.%s", s.dimension)
	}
	return fmt.Sprintf("not matched: match.%s does not cover %s", s.dimension, text.Quote(s.value))
}

// errDimension is the dimension of a selectorResult if there are not enough steps left to compare the selector. The
// Effort has the error.
const errDimension = "effort"

// kindsDimension and untilDimension are the dimensions for the fields kinds and until of an entry.
const (
	kindsDimension = "kinds"
	untilDimension = "until"
)

// Matches reports whether a match applies to s.
func (sel *Selector) Matches(s *Subject) bool {
	_, ok := sel.matches(s)
	return ok
}

// matches is like Matches. If the match does not apply, it also returns the first dimension that does not match.
func (sel *Selector) matches(s *Subject) (why selectorResult, ok bool) {
	switch {
	case !sel.spend(s):
		return selectorResult{dimension: errDimension}, false
	case sel.Namespaces != nil && !match.AnyGlob(sel.Namespaces, s.Namespace):
		return selectorResult{dimension: "namespaces", value: s.Namespace}, false
	case sel.Users != nil && !match.AnyGlob(sel.Users, s.User):
		return selectorResult{dimension: "users", value: s.User}, false
	case sel.Groups != nil && !slices.ContainsFunc(s.Groups, func(g string) bool { return match.AnyGlob(sel.Groups, g) }):
		return selectorResult{dimension: "groups", groups: s.Groups}, false
	case sel.PodLabels != nil && !slices.ContainsFunc(sel.PodLabels, s.hasLabel):
		return selectorResult{dimension: "podLabels"}, false
	case sel.Labels != nil && !slices.ContainsFunc(sel.Labels, s.hasLabel):
		return selectorResult{dimension: "labels"}, false
	case sel.ClassNames != nil && !s.hasClass(sel.ClassNames):
		return selectorResult{dimension: "classNames", value: s.classes[0]}, false
	case sel.LoadBalancerClasses != nil && !s.hasClass(sel.LoadBalancerClasses):
		return selectorResult{dimension: "loadBalancerClasses", value: s.classes[0]}, false
	case sel.GatewayClassNames != nil && s.classes[0] != "" && !s.hasClass(sel.GatewayClassNames):
		return selectorResult{dimension: "gatewayClassNames", value: s.classes[0]}, false
	}
	return selectorResult{}, true
}

// excludes reports whether an exclude applies to s, and returns the first dimension by which it does. Images are not
// compared, because an entry that excludes an image still applies to the other images.
func (sel *Selector) excludes(s *Subject) (why selectorResult, excluded bool) {
	if !sel.spend(s) {
		return selectorResult{dimension: errDimension}, true
	}
	excludedBy := func(dimension, pattern string) selectorResult {
		return selectorResult{excluded: true, dimension: dimension, pattern: pattern, why: string(sel.Reason)}
	}
	if g, ok := match.FirstGlob(sel.Namespaces, s.Namespace); ok {
		return excludedBy("namespaces", string(g)), true
	}
	if g, ok := match.FirstGlob(sel.Users, s.User); ok {
		return excludedBy("users", string(g)), true
	}
	for _, group := range s.Groups {
		if g, ok := match.FirstGlob(sel.Groups, group); ok {
			return excludedBy("groups", string(g)), true
		}
	}
	for _, l := range sel.PodLabels {
		if s.hasLabel(l) {
			return excludedBy("podLabels", l.String()), true
		}
	}
	for _, l := range sel.Labels {
		if s.hasLabel(l) {
			return excludedBy("labels", l.String()), true
		}
	}
	if g, ok := s.classExcludedBy(sel.ClassNames); ok {
		return excludedBy("classNames", string(g)), true
	}
	if g, ok := s.classExcludedBy(sel.LoadBalancerClasses); ok {
		return excludedBy("loadBalancerClasses", string(g)), true
	}
	if g, ok := s.classExcludedBy(sel.GatewayClassNames); ok {
		return excludedBy("gatewayClassNames", string(g)), true
	}
	return selectorResult{}, false
}

// isEverything reports whether the only dimension of a match is namespaces, and namespaces contains *.
func (sel *Selector) isEverything() bool {
	only := *sel
	only.Namespaces = nil
	return !only.hasDimension() && match.AnyGlob(sel.Namespaces, "") // only patterns of stars match the empty name
}
