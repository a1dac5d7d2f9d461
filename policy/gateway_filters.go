package policy

import (
	"iter"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

func (g *gatewayView) eachListenerBackend(r *rule.Recorder) iter.Seq2[*object.Reference, filterPlace] {
	return func(yield func(*object.Reference, filterPlace) bool) {
		for f, place := range g.eachListenerFilter(r) {
			if !eachBackendOf(f, place, r, yield) {
				return
			}
		}
	}
}

// listenerFilterRules is the filters field of a gateways entry. It checks spec.listeners[].filters.requests[]. With
// these filters, a listener sends each request to an authorization server or to an extension before it chooses a route.
// The field is in the experimental channel of Gateway API v1.7 (GEP-5224).
type listenerFilterRules struct {
	// Denied lists types that a filter must not have: [ExternalAuth, ExtensionRef].
	Denied []routeFilterType `yaml:"denied"`
	// UnsafeCharacters: deny means that the texts of filters must not contain characters that can inject configuration
	// into a controller, as in paths.unsafeCharacters of routes.
	UnsafeCharacters rule.Denial `yaml:"unsafeCharacters"`
}

func (f *listenerFilterRules) Validate() error {
	var faults strict.Faults
	faults.Add(rule.RejectEmpty("denied", f.Denied))
	faults.Add(rule.RejectNone(f.checks(), "denied or unsafeCharacters"))
	return faults.Err()
}

func (f *listenerFilterRules) checks() []rule.Check[gatewayView] {
	each := (*gatewayView).eachListenerFilter
	return rule.Checks(
		rule.When(f.Denied != nil, filtersDenied[gatewayView]{each, f.Denied}),
		rule.When(f.UnsafeCharacters, filtersUnsafeCharacters[gatewayView]{"filters.unsafeCharacters", each}),
	)
}

// eachListenerFilter yields the filters of the listeners of a Gateway or a ListenerSet.
func (g *gatewayView) eachListenerFilter(r *rule.Recorder) iter.Seq2[*object.RouteFilter, filterPlace] {
	return func(yield func(*object.RouteFilter, filterPlace) bool) {
		for i, l := range g.listeners(r) {
			place := filterPlace{within: listenersField, element: i, name: l.Name, backend: -1, list: "filters.requests"}
			if !eachOf(l.Filters, place, r, yield) {
				return
			}
		}
	}
}
