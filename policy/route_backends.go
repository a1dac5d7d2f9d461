package policy

import (
	"iter"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// routeBackendRules is the field backends of a routes entry. It judges spec.rules[].backendRefs[], and the backends to
// which filters of type RequestMirror and ExternalAuth send each request too: those of rules and those of backendRefs.
// A backend without a namespace is in that of the route.
type routeBackendRules struct {
	// CrossNamespace: deny means that backends must be in the namespace of the route. Without it, a ReferenceGrant in the
	// other namespace decides.
	CrossNamespace denial `yaml:"crossNamespace"`
	// Kinds lists the kinds of backends that pass, * for any run of characters: [Service,
	// ServiceImport.multicluster.x-k8s.io]. A kind without a group is one of the core group. [] means that none passes.
	Kinds []match.Glob `yaml:"kinds"`
}

// Validate implements strict.Validator.
func (b *routeBackendRules) Validate() error {
	if len(b.checks()) == 0 {
		return errNoCheck("crossNamespace or kinds")
	}
	return nil
}

// checks compiles the rules; nil has no checks.
func (b *routeBackendRules) checks() []check[routeView] {
	if b == nil {
		return nil
	}
	return backendChecks(b.CrossNamespace, b.Kinds, (*routeView).eachBackend)
}

// backendChecks compiles rules for the backends that each yields.
func backendChecks[T any](crossNamespace denial, kinds []match.Glob, each eachBackend[T]) []check[T] {
	var checks []check[T]
	if crossNamespace {
		checks = append(checks, backendsCrossNamespace[T]{each})
	}
	if kinds != nil {
		checks = append(checks, backendsKinds[T]{each, kinds, passing(kinds)})
	}
	return checks
}

// eachBackend yields every backend of an object, and its place. It stops where the steps for the next one are not
// available.
type eachBackend[T any] = func(obj *T, r *report) iter.Seq2[*ObjectRef, filterPlace]

// eachBackend yields the backends of a route: those of rules, and those of filters.
func (route *Route) eachBackend(r *report) iter.Seq2[*ObjectRef, filterPlace] {
	return func(yield func(*ObjectRef, filterPlace) bool) {
		for i := range route.Rules {
			backends := route.Rules[i].Backends
			for j := range backends {
				ref := &backends[j].ObjectRef
				place := filterPlace{within: rulesField, element: i, backend: j, filter: -1, port: backends[j].Port}
				if !r.spend(ref.steps()) || !yield(ref, place) {
					return
				}
			}
		}
		for f, place := range route.eachFilter(r) {
			if !f.eachBackend(place, r, yield) {
				return
			}
		}
	}
}

// eachBackend yields the backends of a filter, and reports whether the caller may continue.
func (f *RouteFilter) eachBackend(at filterPlace, r *report, yield func(*ObjectRef, filterPlace) bool) bool {
	for _, to := range []struct {
		ref   *ObjectRef
		field string
		port  int32
	}{{f.Mirror, mirrorField, f.MirrorPort}, {f.Auth, authField, f.AuthPort}} {
		at.field, at.port = to.field, to.port
		if to.ref != nil && (!r.spend(to.ref.steps()) || !yield(to.ref, at)) {
			return false
		}
	}
	return true
}

// The fields of a filter that have the backend to which it sends requests.
const (
	mirrorField = "requestMirror"
	authField   = "externalAuth"
)

// identity returns the identity of a finding about the backend: one that gets requests does not exempt one that gets
// copies of others' requests, or decides about them, and one port does not exempt another.
func (p filterPlace) identity(check string, backend *ObjectRef, r *report) identity {
	id := p.identityOf(check, backend, r)
	const uses = 3
	id.part = p.port * uses // a port has 16 bits
	switch {
	case p.filter < 0:
	case p.field == mirrorField:
		id.part++
	default:
		id.part += 2
	}
	return id
}

// backendsCrossNamespace is backends.crossNamespace: it finds each backend in another namespace than the object.
type backendsCrossNamespace[T any] struct{ each eachBackend[T] }

func (c backendsCrossNamespace[T]) find(obj *T, r *report) {
	for ref, place := range c.each(obj, r) {
		if ref.namespace(r) == r.subject.namespace {
			continue
		}
		if f := r.tryAdd(place.identity("backends.crossNamespace", ref, r)); f != nil {
			f.Path, f.Reason = place.backendField()+".namespace", ref.describe(r)+" is in another namespace"
		}
	}
}

// backendsKinds is backends.kinds: it finds each backend of a kind that no pattern matches.
type backendsKinds[T any] struct {
	each    eachBackend[T]
	kinds   []match.Glob
	passing string // the end of its sentences
}

func (c backendsKinds[T]) find(obj *T, r *report) {
	for ref, place := range c.each(obj, r) {
		if !r.spend(len(c.kinds) * ref.steps()) {
			return
		}
		if matchesAny(c.kinds, ref.Kind) {
			continue
		}
		if f := r.tryAdd(place.identity("backends.kinds", ref, r)); f != nil {
			f.Path, f.Reason = place.backendField()+".kind", text.Quote(ref.Kind)+" is not allowed"+c.passing
		}
	}
}
