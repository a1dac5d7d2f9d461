package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// selector is the match or the exclude of an entry. Within one dimension any element suffices. A match needs all of the
// dimensions that it names; an exclude needs one of them.
type selector struct {
	// Namespaces lists names of namespaces, * for any run of characters.
	Namespaces []match.Glob `yaml:"namespaces"`
	// Users lists users that send the request, as the API server names them, * for any run of characters.
	Users []match.Glob `yaml:"users"`
	// Groups lists groups of which the user is in one, * for any run of characters.
	Groups []match.Glob `yaml:"groups"`
	// PodLabels lists labels of Pods: a key, or key=value, with * for any run of characters in the value.
	PodLabels []labelPattern `yaml:"podLabels"`
	// Images lists images of a Pod that are exempt, while its others are not: a registry, a path in it, or one image.
	Images []match.ImagePattern `yaml:"images"`
	// Labels lists labels of the object: a key, or key=value, with * for any run of characters in the value.
	Labels []labelPattern `yaml:"labels"`

	// ClassNames lists classes of Ingresses, by spec.ingressClassName or by the annotation, * for any run of characters.
	// An object that names two classes is excluded if both are.
	ClassNames []match.Glob `yaml:"classNames"`
	// LoadBalancerClasses lists values of spec.loadBalancerClass of Services, * for any run of characters.
	LoadBalancerClasses []match.Glob `yaml:"loadBalancerClasses"`
	// GatewayClassNames lists classes of Gateways, * for any run of characters. A match covers what names none too.
	GatewayClassNames []match.Glob `yaml:"gatewayClassNames"`

	// Set is the set of rules that the entry is in, a DNS label: the path of a webhook names the set, and the rules of the
	// set judge what that webhook sends. Absent: the entry judges what is sent to the path of its kind.
	Set setName `yaml:"set"`

	// Until is when an exclude ends: a date, which ends with that day in UTC, or a time as RFC 3339 has it. Until then
	// what it excludes is judged, and the findings are exempt. Absent: the exclude has no end, and what it excludes is not
	// judged.
	Until *moment `yaml:"until"`
	// Reason says why an exclude is there, in one line, which reports show.
	Reason reason `yaml:"reason"`
}

// subject is what selectors compare: the namespace and the user of a request, the labels and the classes of an object.
type subject struct {
	resource        string
	namespace, user string
	groups          []string
	labels          map[string]string
	classes         classes
	now             time.Time

	template bool // of a workload: something may fill in images before a Pod is created

	groupBytes int     // the length of all groups together
	effort     *Effort // counts the steps of selectors; nil counts none
}

// classes are the classes that an object names, by which implementations choose what they serve; empty texts for none.
type classes [2]string

func newSubject(a Attributes, m *Meta, c classes, e *Effort) subject {
	s := subject{
		resource: a.Resource, namespace: a.Namespace, user: a.User, groups: a.Groups, now: a.Now,
		labels: m.Labels, classes: c, effort: e,
	}
	for _, g := range s.groups {
		s.groupBytes += len(g)
	}
	return s
}

// attributes returns the attributes of the request.
func (s *subject) attributes() Attributes {
	return Attributes{Resource: s.resource, Namespace: s.namespace, User: s.user, Groups: s.groups, Now: s.now}
}

// hasLabel reports whether one of the labels matches a pattern.
func (s *subject) hasLabel(l labelPattern) bool {
	v, ok := s.labels[l.key]
	return ok && (l.anyValue || l.value.Match(v))
}

// hasClass reports whether one of the classes matches a pattern.
func (s *subject) hasClass(patterns []match.Glob) bool {
	return slices.ContainsFunc(s.classes[:], func(c string) bool { return c != "" && matchesAny(patterns, c) })
}

// classExcludedBy returns a pattern that matches a class, if each class is matched: of an object that names two, the
// one that is not excluded may be in force.
func (s *subject) classExcludedBy(patterns []match.Glob) (by match.Glob, excluded bool) {
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

// spend counts the steps that matches or excludes takes, and reports whether they may be taken.
func (sel *selector) spend(s *subject) bool {
	n := stepsOf(len(sel.Namespaces), s.namespace) + stepsOf(len(sel.Users), s.user)
	n += len(s.groups) + len(sel.Groups)*(len(s.groups)+s.groupBytes/stepBytes)
	for _, labels := range [][]labelPattern{sel.PodLabels, sel.Labels} {
		for _, l := range labels {
			n += stepsOf(1, s.labels[l.key])
		}
	}
	for _, c := range s.classes {
		n += stepsOf(len(sel.ClassNames)+len(sel.LoadBalancerClasses)+len(sel.GatewayClassNames), c)
	}
	return s.effort == nil || s.effort.spend(n)
}

// selectorResult says why an entry does not apply to an object. It is formatted only where it is shown. The zero value
// says that the entry applies.
type selectorResult struct {
	excluded  bool   // by exclude, rather than not matched by match
	dimension string // until, kinds, namespaces, users, groups, podLabels, labels, classNames, …
	pattern   string // that excludes the object
	value     string // that match does not cover
	groups    []string
	why       string // the reason of the exclude; may be empty
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

// errDimension stands for a dimension where the steps of a selector are not available. The Effort has the error.
const errDimension = "effort"

// kindsDimension and untilDimension stand for the fields kinds and until of an entry.
const (
	kindsDimension = "kinds"
	untilDimension = "until"
)

// matches reports whether s meets a match, and if it does not, the first dimension that it does not meet.
func (sel *selector) matches(s *subject) (why selectorResult, ok bool) {
	switch {
	case sel == nil:
		return selectorResult{}, true
	case !sel.spend(s):
		return selectorResult{dimension: errDimension}, false
	case sel.Namespaces != nil && !matchesAny(sel.Namespaces, s.namespace):
		return selectorResult{dimension: "namespaces", value: s.namespace}, false
	case sel.Users != nil && !matchesAny(sel.Users, s.user):
		return selectorResult{dimension: "users", value: s.user}, false
	case sel.Groups != nil && !slices.ContainsFunc(s.groups, func(g string) bool { return matchesAny(sel.Groups, g) }):
		return selectorResult{dimension: "groups", groups: s.groups}, false
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

// matchesAny reports whether one of the patterns matches a value.
func matchesAny(patterns []match.Glob, value string) bool {
	_, ok := match.FirstGlob(patterns, value)
	return ok
}

// excludes reports whether an exclude excludes s, and the first dimension by which it does. Images are not a dimension
// of s: an entry that excludes an image still applies to the other images.
func (sel *selector) excludes(s *subject) (why selectorResult, excluded bool) {
	if sel == nil {
		return selectorResult{}, false
	}
	if !sel.spend(s) {
		return selectorResult{dimension: errDimension}, true
	}
	excludedBy := func(dimension, pattern string) selectorResult {
		return selectorResult{excluded: true, dimension: dimension, pattern: pattern, why: string(sel.Reason)}
	}
	if g, ok := match.FirstGlob(sel.Namespaces, s.namespace); ok {
		return excludedBy("namespaces", string(g)), true
	}
	if g, ok := match.FirstGlob(sel.Users, s.user); ok {
		return excludedBy("users", string(g)), true
	}
	for _, group := range s.groups {
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
