package policy

import (
	"iter"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// listenerBackendRules is the backends field of a gateways entry. It checks the backends to which filters of listeners
// send each request: externalAuth.backendRef and requestMirror.backendRef. A backend without a namespace is in the
// namespace of the object. Filters of listeners are an experimental field of Gateway API: see filters.
type listenerBackendRules struct {
	// CrossNamespace: deny means that backends must be in the namespace of the Gateway or the ListenerSet. Without it, a
	// ReferenceGrant in the other namespace is enough.
	CrossNamespace rule.Denial `yaml:"crossNamespace"`
	// Kinds lists the kinds of backends that pass, * for any run of characters: [Service,
	// ServiceImport.multicluster.x-k8s.io]. A kind without a group is in the core group. [] means that no kind passes.
	Kinds []match.Glob `yaml:"kinds"`
}

// Validate implements strict.Validator.
func (b *listenerBackendRules) Validate() error {
	if len(b.checks()) == 0 {
		return rule.ErrNoCheck("crossNamespace or kinds")
	}
	return nil
}

// checks compiles the rules. It returns nil if b is nil.
func (b *listenerBackendRules) checks() []rule.Check[gatewayView] {
	if b == nil {
		return nil
	}
	return backendChecks(b.CrossNamespace, b.Kinds, (*gatewayView).eachListenerBackend)
}

// eachListenerBackend yields the backends of the filters of listeners.
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

// Validate implements strict.Validator.
func (f *listenerFilterRules) Validate() error {
	var faults strict.Faults
	faults.Add(rule.RejectEmpty("denied", f.Denied))
	if len(f.checks()) == 0 {
		faults.Add(rule.ErrNoCheck("denied or unsafeCharacters"))
	}
	return faults.Err()
}

// checks compiles the rules. It returns nil if f is nil.
func (f *listenerFilterRules) checks() []rule.Check[gatewayView] {
	if f == nil {
		return nil
	}
	var checks []rule.Check[gatewayView]
	if f.Denied != nil {
		checks = append(checks, filtersDenied[gatewayView]{(*gatewayView).eachListenerFilter, f.Denied})
	}
	if f.UnsafeCharacters {
		checks = append(checks,
			filtersUnsafeCharacters[gatewayView]{"filters.unsafeCharacters", (*gatewayView).eachListenerFilter})
	}
	return checks
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
