package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// selector is the match or the exclude of an entry. Within one dimension any element suffices. A match needs all of the
// dimensions that it names; an exclude needs one of them.
type selector struct {
	Namespaces []match.Glob         `yaml:"namespaces"` // names, * for any run of characters
	Users      []match.Glob         `yaml:"users"`      // as the API server names them
	Groups     []match.Glob         `yaml:"groups"`
	PodLabels  []labelPattern       `yaml:"podLabels"` // of Pods: key or key=value
	Images     []match.ImagePattern `yaml:"images"`    // exclude only: the images of a Pod that are exempt
	Labels     []labelPattern       `yaml:"labels"`    // of Ingresses and Services: key or key=value

	ClassNames          []match.Glob `yaml:"classNames"`          // of Ingresses: by field or annotation
	LoadBalancerClasses []match.Glob `yaml:"loadBalancerClasses"` // of Services
}

// labelPattern is a label key that a Pod must have, or a key and a pattern for its value: app, app=web-*.
type labelPattern struct {
	key      string
	value    match.Glob
	anyValue bool
}

// UnmarshalText parses key and key=value. A pattern with a character that no label has is an error, since it matches
// nothing: an exclude by "app = x" or "app!=x" would exempt nothing, and a match would apply to nothing.
func (l *labelPattern) UnmarshalText(b []byte) error {
	key, value, has := strings.Cut(string(b), "=")
	if key == "" || strings.Contains(key, "*") {
		return fmt.Errorf("%s is not a label: write key or key=value", text.Quote(b))
	}
	if err := match.RefuseControl(b, "pattern"); err != nil {
		return err
	}
	if !inLabel(key, "/") || !inLabel(value, "*") {
		return fmt.Errorf("%s matches no label: key and value are written with letters, digits, - _ and ., a key also with /"+
			"%s", text.Quote(b), meantLabel(key, value, has))
	}
	*l = labelPattern{key, match.Glob(value), !has}
	return nil
}

// inLabel reports whether s has no other bytes than keys and values of labels have
// (k8s.io/apimachinery/pkg/util/validation), and those in extra.
func inLabel(s, extra string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_."+extra, r)
	})
}

// meantLabel ends a sentence with the pattern that was probably meant: the same without spaces around key and value.
func meantLabel(key, value string, has bool) string {
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if key == "" || !inLabel(key, "/") || !inLabel(value, "*") {
		return ""
	}
	meant := labelPattern{key, match.Glob(value), !has}.String()
	return "; write " + text.Truncate(meant, text.Short)
}

// String returns the pattern as policy files have it.
func (l labelPattern) String() string {
	if l.anyValue {
		return l.key
	}
	return l.key + "=" + string(l.value)
}

// subject is what selectors compare: the namespace and the user of a request, the labels and the classes of an object.
type subject struct {
	namespace, user string
	groups          []string
	labels          map[string]string
	classes         classes

	groupBytes int     // the length of all groups together
	effort     *Effort // counts the steps of selectors; nil counts none
}

// classes are the classes that an object names, by which implementations choose what they serve; empty texts for none.
type classes [2]string

func newSubject(a Attributes, m *Meta, c classes, e *Effort) subject {
	s := subject{namespace: a.Namespace, user: a.User, groups: a.Groups, labels: m.Labels, classes: c, effort: e}
	for _, g := range s.groups {
		s.groupBytes += len(g)
	}
	return s
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

// classExcludedBy returns a pattern that matches a class, if each class is matched: of an object that names two, the one
// that is not excluded may be in force.
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
		n += stepsOf(len(sel.ClassNames)+len(sel.LoadBalancerClasses), c)
	}
	return s.effort == nil || s.effort.spend(n)
}

// selectorResult says why an entry does not apply to an object. It is formatted only where it is shown. The zero value
// says that the entry applies.
type selectorResult struct {
	excluded  bool   // by exclude, rather than not matched by match
	dimension string // namespaces, users, groups, podLabels, labels, classNames, loadBalancerClasses
	pattern   string // that excludes the object
	value     string // that match does not cover
	groups    []string
}

// String returns the result as review --explain shows it.
func (s selectorResult) String() string {
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

// errDimension stands for a dimension where the steps of a selector are not available. The Effort has the error.
const errDimension = "effort"

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
	return selectorResult{}, false
}

func excludedBy(dimension, pattern string) selectorResult {
	return selectorResult{excluded: true, dimension: dimension, pattern: pattern}
}

// dimensions are the dimensions of a selector, beside namespaces, that have a meaning for a kind of entry.
type dimensions struct{ requester, podLabels, images, labels, classNames, loadBalancerClasses bool }

// Dimensions of the kinds of entries. Pods are created by controllers, not by people.
func podDimensions() dimensions { return dimensions{podLabels: true, images: true} }
func ingressDimensions() dimensions {
	return dimensions{requester: true, labels: true, classNames: true}
}
func serviceDimensions() dimensions {
	return dimensions{requester: true, labels: true, loadBalancerClasses: true}
}

// suggest returns the dimensions that have a meaning in a field of an entry, match or exclude; nil for other fields.
func (d dimensions) suggest(field string) []string {
	if field != selectorName(true) && field != selectorName(false) {
		return nil
	}
	names := []string{"namespaces"}
	for _, dimension := range []struct {
		known bool
		names []string
	}{
		{d.requester, []string{"users", "groups"}},
		{d.podLabels, []string{"podLabels"}},
		{d.images && field == selectorName(false), []string{"images"}},
		{d.labels, []string{"labels"}},
		{d.classNames, []string{"classNames"}},
		{d.loadBalancerClasses, []string{"loadBalancerClasses"}},
	} {
		if dimension.known {
			names = append(names, dimension.names...)
		}
	}
	return names
}

// refuse returns an error for each dimension of a selector that has no meaning, with the reason.
func (d dimensions) refuse(sel *selector, isMatch bool) []error {
	if sel == nil {
		return nil
	}
	const (
		people    = "Pods are created by controllers, not by people; use namespaces or podLabels"
		pods      = "only entries of mirrors and pods look at Pods"
		objects   = "only entries of ingresses and services look at labels of objects; those of Pods are podLabels"
		ingresses = "only entries of ingresses look at classes of Ingresses"
		services  = "only entries of services look at load balancer classes"
	)
	var errs []error
	for _, dimension := range []struct {
		name         string
		given, known bool
		why          string
	}{
		{"users", sel.Users != nil, d.requester, people},
		{"groups", sel.Groups != nil, d.requester, people},
		{"podLabels", sel.PodLabels != nil, d.podLabels, pods},
		{"images", sel.Images != nil, d.images, "only entries of mirrors and pods look at images"},
		{"labels", sel.Labels != nil, d.labels, objects},
		{"classNames", sel.ClassNames != nil, d.classNames, ingresses},
		{"loadBalancerClasses", sel.LoadBalancerClasses != nil, d.loadBalancerClasses, services},
	} {
		if dimension.given && !dimension.known {
			errs = append(errs, strict.Fieldf(selectorName(isMatch), "%s has no meaning here: %s", dimension.name, dimension.why))
		}
	}
	if isMatch && d.images && sel.Images != nil {
		errs = append(errs, strict.Fieldf(selectorName(isMatch),
			"images has no meaning in match: which images an entry looks at is said by its own fields"))
	}
	return slices.Concat(errs, sel.refuseEmpty(isMatch), sel.refuseNamespaces(isMatch))
}

// refuseNamespaces returns an error for each pattern that no name of a namespace can match.
func (sel *selector) refuseNamespaces(isMatch bool) []error {
	var errs []error
	for _, g := range sel.Namespaces {
		if err := match.Namespaces().Check(g); err != nil {
			errs = append(errs, strict.Fieldf(selectorName(isMatch), "namespaces: %v", err))
		}
	}
	return errs
}

// refuseEmpty returns an error for each empty list, by which an exclude excludes nothing, and a match matches nothing.
func (sel *selector) refuseEmpty(isMatch bool) []error {
	field, does := selectorName(isMatch), "excludes"
	if isMatch {
		does = "matches"
	}
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
		{"labels", sel.Labels != nil && len(sel.Labels) == 0},
		{"classNames", sel.ClassNames != nil && len(sel.ClassNames) == 0},
		{"loadBalancerClasses", sel.LoadBalancerClasses != nil && len(sel.LoadBalancerClasses) == 0},
	} {
		if list.empty {
			errs = append(errs, strict.Fieldf(field, "%s: [] %s nothing: leave the field out", list.name, does))
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
