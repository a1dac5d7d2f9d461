package rule

import (
	"slices"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Dimensions are the dimensions of a selector that have a meaning for a kind of entry.
type Dimensions struct {
	names []string
	noSet bool // match.set does not have a meaning
}

// PodDimensions are the dimensions of entries about Pods. They do not contain users and groups, because controllers
// create Pods.
func PodDimensions() Dimensions {
	return Dimensions{names: []string{"namespaces", "podLabels", "images"}}
}

// MirrorDimensions are the dimensions of mirrors entries.
func MirrorDimensions() Dimensions {
	return Dimensions{names: []string{"namespaces", "podLabels", "images"}, noSet: true}
}

// IngressDimensions are the dimensions of entries about Ingresses.
func IngressDimensions() Dimensions {
	return Dimensions{names: []string{"namespaces", "users", "groups", "labels", "classNames"}}
}

// ServiceDimensions are the dimensions of entries about Services.
func ServiceDimensions() Dimensions {
	return Dimensions{names: []string{"namespaces", "users", "groups", "labels", "loadBalancerClasses"}}
}

// GatewayDimensions are the dimensions of entries about Gateways.
func GatewayDimensions() Dimensions {
	return Dimensions{names: []string{"namespaces", "users", "groups", "labels", "gatewayClassNames"}}
}

// ClasslessDimensions are the dimensions of entries about objects without a class.
func ClasslessDimensions() Dimensions {
	return Dimensions{names: []string{"namespaces", "users", "groups", "labels"}}
}

// UniqueDimensions are the dimensions of entries about many objects, which do not come from a request.
func UniqueDimensions() Dimensions {
	return Dimensions{names: []string{"namespaces", "labels"}, noSet: true}
}

// Suggest returns the dimensions that have a meaning in the match or exclude field of an entry. It returns nil for
// other fields.
func (d Dimensions) Suggest(field string) []string {
	names := slices.Clone(d.names)
	switch {
	case field == selectorName(false):
		return append(names, "until", "reason")
	case field != selectorName(true):
		return nil
	case !d.noSet:
		names = append(names, "set")
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "images" })
}

// dimension is a list of patterns in a selector.
type dimension struct {
	name       string
	why        string // why it has no meaning for other kinds of entries
	set, empty bool
}

func dimensionOf[T any](name string, patterns []T, why string) dimension {
	return dimension{name, why, patterns != nil, patterns != nil && len(patterns) == 0}
}

// dimensions returns every dimension.
func (sel *Selector) dimensions() []dimension {
	const people = "Pods are created by controllers, not by people; use namespaces or podLabels"
	return []dimension{
		dimensionOf("namespaces", sel.Namespaces, ""),
		dimensionOf("users", sel.Users, people),
		dimensionOf("groups", sel.Groups, people),
		dimensionOf("podLabels", sel.PodLabels, "only mirrors and pods entries match Pods"),
		dimensionOf("images", sel.Images, "only mirrors and pods entries match images"),
		dimensionOf("labels", sel.Labels, "mirrors and pods entries match podLabels instead"),
		dimensionOf("classNames", sel.ClassNames, "only ingresses entries match Ingress classes"),
		dimensionOf("loadBalancerClasses", sel.LoadBalancerClasses, "only services entries match load balancer classes"),
		dimensionOf("gatewayClassNames", sel.GatewayClassNames, "only gateways entries match Gateway classes"),
	}
}

// meaningless returns the dimensions of a selector that do not have a meaning for the kind of entry.
func (d Dimensions) meaningless(sel *Selector) []dimension {
	return slices.DeleteFunc(sel.dimensions(), func(of dimension) bool { return !of.set || d.has(of.name) })
}

func (d Dimensions) has(name string) bool { return slices.Contains(d.names, name) }

// reject returns an error, with the reason, for each dimension of a selector that does not have a meaning.
func (d Dimensions) reject(sel *Selector, isMatch bool) []error {
	if sel == nil {
		return nil
	}
	var errs []error
	field := selectorName(isMatch)
	for _, m := range d.meaningless(sel) {
		errs = append(errs, strict.Fieldf(field, "%s has no meaning here: %s", m.name, m.why))
	}
	if isMatch && sel.Set != "" && d.noSet {
		errs = append(errs, strict.Fieldf(field, "set has no meaning here: no webhook with rule sets evaluates the entry"))
	}
	if isMatch && sel.Images != nil && d.has("images") {
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
	return slices.ContainsFunc(sel.dimensions(), func(d dimension) bool { return d.set })
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
	for _, d := range sel.dimensions() {
		if d.empty {
			errs = append(errs, strict.Fieldf(field, "%s: [] %s nothing: leave the field out", d.name, does))
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
