package policy

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/evergate/evergate/internal/text"
)

// routeFilterRules is the field filters of a routes entry. It judges spec.rules[].filters[] and
// spec.rules[].backendRefs[].filters[] of HTTPRoutes and GRPCRoutes; other routes have no filters.
type routeFilterRules struct {
	// Denied lists types that a filter must not have: [RequestMirror, ExtensionRef].
	Denied []routeFilterType `yaml:"denied,required"`
}

// routeFilterType is the type of a filter, as gateway.networking.k8s.io/v1 has it.
type routeFilterType string

// routeFilterTypes are the types of Gateway API v1.7, in its standard and its experimental channel.
func routeFilterTypes() []routeFilterType {
	return []routeFilterType{
		"RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror", "RequestRedirect", "URLRewrite", "ExtensionRef",
		"CORS", "ExternalAuth",
	}
}

// UnmarshalText refuses what is no type: the entry would silently deny none.
func (t *routeFilterType) UnmarshalText(b []byte) error {
	if *t = routeFilterType(b); !slices.Contains(routeFilterTypes(), *t) {
		return fmt.Errorf("%s is not a type of filters: write %s", text.Quote(b), text.ListUpTo(10, routeFilterTypes()))
	}
	return nil
}

// Validate implements strict.Validator.
func (f *routeFilterRules) Validate() error { return refuseEmpty("denied", f.Denied) }

// checks compiles the rules; nil has no checks.
func (f *routeFilterRules) checks() []check[routeView] {
	if f == nil {
		return nil
	}
	return []check[routeView]{filtersDenied[routeView]{(*routeView).eachFilter, f.Denied}}
}

// eachFilter yields every filter of an object, and its place. It stops where the steps for the next one are not
// available.
type eachFilter[T any] = func(obj *T, r *report) iter.Seq2[*RouteFilter, filterPlace]

// eachFilter yields the filters of a route: those of rules, and those of their backends.
func (route *Route) eachFilter(r *report) iter.Seq2[*RouteFilter, filterPlace] {
	return func(yield func(*RouteFilter, filterPlace) bool) {
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
func eachOf(filters []RouteFilter, at filterPlace, r *report, yield func(*RouteFilter, filterPlace) bool) bool {
	for k := range filters {
		at.filter = k
		if !r.spend(stepsOf(1, filters[k].Type)) || !yield(&filters[k], at) {
			return false
		}
	}
	return r.spend(1)
}

// filtersDenied is filters.denied: it finds each filter of a type in the list. A filter that names another object, as
// RequestMirror, ExtensionRef and ExternalAuth do, is pre-existing if the old object had one for the same object and
// the same port; one of another type, if the old object had one that does the same.
type filtersDenied[T any] struct {
	each   eachFilter[T]
	denied []routeFilterType
}

func (c filtersDenied[T]) find(obj *T, r *report) {
	for f, place := range c.each(obj, r) {
		i := slices.Index(c.denied, routeFilterType(f.Type))
		if i < 0 {
			continue
		}
		id := identity{check: "filters.denied", value: f.Type, detail: f.Content, use: place.name}
		if ref := cmp.Or(f.Mirror, f.Extension, f.Auth); ref != nil {
			id = place.identityOf("filters.denied", ref, r)
			id.part = int32(1+i) + (f.MirrorPort+f.AuthPort)<<4 // a filter has one of them
		}
		if found := r.tryAdd(id); found != nil {
			found.Path, found.Reason = place.String()+".type", text.Quote(f.Type)+" is denied; remove the filter"
		}
	}
}
