package policy

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// routeFilterRules is the filters block of a routes entry. It validates spec.rules[].filters[] and
// spec.rules[].backendRefs[].filters[] of HTTPRoutes and GRPCRoutes. Other routes do not have filters.
type routeFilterRules struct {
	// Denied lists types that a filter must not have: [RequestMirror, ExtensionRef].
	Denied []routeFilterType `yaml:"denied,required"`
}

// routeFilterType is the type of a filter in gateway.networking.k8s.io/v1.
type routeFilterType string

// routeFilterTypes returns the filter types of Gateway API v1.7, from the standard and the experimental channel.
func routeFilterTypes() []routeFilterType {
	return []routeFilterType{
		"RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror", "RequestRedirect", "URLRewrite", "ExtensionRef",
		"CORS", "ExternalAuth",
	}
}

// UnmarshalText returns an error for an unknown type, because the entry would silently deny nothing.
func (t *routeFilterType) UnmarshalText(b []byte) error {
	if *t = routeFilterType(b); !slices.Contains(routeFilterTypes(), *t) {
		return fmt.Errorf("%s is not a type of filters: write %s", text.Quote(b), text.ListUpTo(10, routeFilterTypes()))
	}
	return nil
}

func (f *routeFilterRules) Validate() error { return rule.RejectEmpty("denied", f.Denied) }

func (f *routeFilterRules) checks() []rule.Check[routeView] {
	return []rule.Check[routeView]{filtersDenied[routeView]{(*routeView).eachFilter, f.Denied}}
}

// eachFilter yields every filter of an object and its place. It stops if there are not enough steps left for the next
// filter.
type eachFilter[T any] = func(obj *T, r *rule.Recorder) iter.Seq2[*object.RouteFilter, filterPlace]

// eachFilter yields the filters of a route: the filters of each rule, and then the filters of the rule's backends.
func (route *routeView) eachFilter(r *rule.Recorder) iter.Seq2[*object.RouteFilter, filterPlace] {
	return func(yield func(*object.RouteFilter, filterPlace) bool) {
		for i := range route.Rules {
			rule := &route.Rules[i]
			place := filterPlace{within: rulesField, element: i, backend: -1, list: "filters"}
			if !eachOf(rule.Filters, place, r, yield) {
				return
			}
			for j := range rule.Backends {
				place.backend = j
				if !eachOf(rule.Backends[j].Filters, place, r, yield) {
					return
				}
			}
		}
	}
}

// eachOf yields the filters of one list, and reports whether the caller may continue.
func eachOf(
	filters []object.RouteFilter, at filterPlace, r *rule.Recorder, yield func(*object.RouteFilter, filterPlace) bool,
) bool {
	for k := range filters {
		at.filter = k
		if !r.Spend(rule.StepsOf(1, filters[k].Type)) || !yield(&filters[k], at) {
			return false
		}
	}
	return r.Spend(1)
}

// filtersDenied is the check filters.denied. It finds each filter with a type in the list. A RequestMirror,
// ExtensionRef or ExternalAuth filter, which refers to another object, is pre-existing if the old object had a filter
// of the same type for the same object and port. Another filter is pre-existing if the old object had a filter of the
// same type with the same content.
type filtersDenied[T any] struct {
	each   eachFilter[T]
	denied []routeFilterType
}

func (c filtersDenied[T]) Find(obj *T, r *rule.Recorder) {
	for f, place := range c.each(obj, r) {
		i := slices.Index(c.denied, routeFilterType(f.Type))
		if i < 0 {
			continue
		}
		id := rule.Identity{Check: "filters.denied", Value: f.Type, Detail: f.Content, Use: place.name}
		if ref := cmp.Or(f.Mirror, f.Extension, f.Auth); ref != nil {
			id = place.identityOf("filters.denied", ref, r)
			id.Part = int32(1+i) + (f.MirrorPort+f.AuthPort)<<4 // a filter has at most one of the two ports
		}
		if found := r.TryAdd(id); found != nil {
			found.Path, found.Reason = place.String()+".type", text.Quote(f.Type)+" is denied; remove the filter"
		}
	}
}
