package rule

import (
	"slices"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Dimensions are the dimensions of a selector that have a meaning for a kind of entry. The dimension namespaces is not
// listed, because it has a meaning for every kind.
type Dimensions struct {
	requester, podLabels, images, labels, classNames, loadBalancerClasses, gatewayClassNames, noSet bool
}

// PodDimensions are the dimensions of entries about Pods. They do not contain users and groups, because controllers
// create Pods.
func PodDimensions() Dimensions { return Dimensions{podLabels: true, images: true} }

// MirrorDimensions are the dimensions of mirrors entries.
func MirrorDimensions() Dimensions {
	return Dimensions{podLabels: true, images: true, noSet: true}
}

// IngressDimensions are the dimensions of entries about Ingresses.
func IngressDimensions() Dimensions {
	return Dimensions{requester: true, labels: true, classNames: true}
}

// ServiceDimensions are the dimensions of entries about Services.
func ServiceDimensions() Dimensions {
	return Dimensions{requester: true, labels: true, loadBalancerClasses: true}
}

// GatewayDimensions are the dimensions of entries about Gateways.
func GatewayDimensions() Dimensions {
	return Dimensions{requester: true, labels: true, gatewayClassNames: true}
}

// ClasslessDimensions are the dimensions of entries about objects without a class.
func ClasslessDimensions() Dimensions { return Dimensions{requester: true, labels: true} }

// Suggest returns the dimensions that have a meaning in the match or exclude field of an entry. It returns nil for
// other fields.
func (d Dimensions) Suggest(field string) []string {
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
		{d.gatewayClassNames, []string{"gatewayClassNames"}},
		{!d.noSet && field == selectorName(true), []string{"set"}},
		{field == selectorName(false), []string{"until", "reason"}},
	} {
		if dimension.known {
			names = append(names, dimension.names...)
		}
	}
	return names
}

// meaninglessDimension is a dimension of a selector that does not have a meaning for a kind of entry, and the reason.
type meaninglessDimension struct{ dimension, why string }

// meaningless returns the dimensions of a selector that do not have a meaning for the kind of entry.
func (d Dimensions) meaningless(sel *Selector) []meaninglessDimension {
	const (
		people    = "Pods are created by controllers, not by people; use namespaces or podLabels"
		pods      = "only mirrors and pods entries match Pods"
		objects   = "mirrors and pods entries match podLabels instead"
		ingresses = "only ingresses entries match Ingress classes"
		services  = "only services entries match load balancer classes"
		gateways  = "only gateways entries match Gateway classes"
	)
	var all []meaninglessDimension
	for _, dimension := range []struct {
		name         string
		given, known bool
		why          string
	}{
		{"users", sel.Users != nil, d.requester, people},
		{"groups", sel.Groups != nil, d.requester, people},
		{"podLabels", sel.PodLabels != nil, d.podLabels, pods},
		{"images", sel.Images != nil, d.images, "only mirrors and pods entries match images"},
		{"labels", sel.Labels != nil, d.labels, objects},
		{"classNames", sel.ClassNames != nil, d.classNames, ingresses},
		{"loadBalancerClasses", sel.LoadBalancerClasses != nil, d.loadBalancerClasses, services},
		{"gatewayClassNames", sel.GatewayClassNames != nil, d.gatewayClassNames, gateways},
	} {
		if dimension.given && !dimension.known {
			all = append(all, meaninglessDimension{dimension.name, dimension.why})
		}
	}
	return all
}

// reject returns an error, with the reason, for each dimension of a selector that does not have a meaning.
func (d Dimensions) reject(sel *Selector, isMatch bool) []error {
	if sel == nil {
		return nil
	}
	var errs []error
	field := selectorName(isMatch)
	for _, m := range d.meaningless(sel) {
		errs = append(errs, strict.Fieldf(field, "%s has no meaning here: %s", m.dimension, m.why))
	}
	if isMatch && sel.Set != "" && d.noSet {
		errs = append(errs, strict.Fieldf(field, "set has no meaning here: a webhook without rule sets rewrites images"))
	}
	if isMatch && d.images && sel.Images != nil {
		errs = append(errs, strict.Fieldf(field,
			"images has no meaning in match: other fields of the entry select its images"))
	}
	if !isMatch && sel.Set != "" {
		errs = append(errs, strict.Fieldf(field,
			"set has no meaning in exclude: an entry is in the rule set of its match, or in no rule set"))
	}
	if isMatch {
		errs = append(errs, sel.rejectEnd()...)
	} else if sel.Until != nil && !sel.hasDimension() {
		errs = append(errs, strict.Fieldf(field, "does not exclude anything, so nothing ends: write which objects are "+
			"exempt until then, for example by namespaces"))
	}
	return slices.Concat(errs, sel.rejectEmpty(isMatch), sel.rejectImpossible(isMatch))
}

// rejectEnd returns an error for each field of a match that only an exclude may have.
func (sel *Selector) rejectEnd() []error {
	var errs []error
	if sel.Until != nil {
		errs = append(errs, strict.Fieldf(selectorName(true), "until has no meaning in match: write it in exclude, or "+
			"next to match"))
	}
	if sel.Reason != "" {
		errs = append(errs, strict.Fieldf(selectorName(true), "reason has no meaning in match: write it in exclude, or "+
			"next to match"))
	}
	return errs
}

// hasDimension reports whether a selector has at least one dimension.
func (sel *Selector) hasDimension() bool {
	return sel.Namespaces != nil || sel.Users != nil || sel.Groups != nil || sel.PodLabels != nil || sel.Images != nil ||
		sel.Labels != nil || sel.ClassNames != nil || sel.LoadBalancerClasses != nil || sel.GatewayClassNames != nil
}

// rejectImpossible returns an error for each pattern that does not match any valid name of a namespace, a user or a
// group.
func (sel *Selector) rejectImpossible(isMatch bool) []error {
	var errs []error
	for _, dimension := range []struct {
		name     string
		patterns []match.Glob
		check    func(match.Glob) error
	}{
		{"namespaces", sel.Namespaces, match.Namespaces().Check},
		{"users", sel.Users, match.CheckUser},
		{"groups", sel.Groups, match.CheckGroup},
	} {
		for _, g := range dimension.patterns {
			if err := dimension.check(g); err != nil {
				errs = append(errs, strict.Fieldf(selectorName(isMatch), "%s: %v", dimension.name, err))
			}
		}
	}
	return errs
}

// rejectEmpty returns an error for each empty list. With an empty list, an exclude excludes nothing and a match matches
// nothing.
func (sel *Selector) rejectEmpty(isMatch bool) []error {
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
		{"gatewayClassNames", sel.GatewayClassNames != nil && len(sel.GatewayClassNames) == 0},
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
