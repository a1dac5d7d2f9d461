package policy

import (
	"iter"
	"strconv"

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
	var checks []check[routeView]
	if b.CrossNamespace {
		checks = append(checks, backendsCrossNamespace{})
	}
	if b.Kinds != nil {
		checks = append(checks, backendsKinds{b.Kinds, passing(b.Kinds)})
	}
	return checks
}

// eachBackend yields every backend of a route, and its place. It stops where the steps for the next one are not
// available.
func (route *Route) eachBackend(r *report) iter.Seq2[*ObjectRef, routePlace] {
	return func(yield func(*ObjectRef, routePlace) bool) {
		for i := range route.Rules {
			backends := route.Rules[i].Backends
			for j := range backends {
				ref := &backends[j].ObjectRef
				place := routePlace{rule: i, backend: j, filter: -1, port: backends[j].Port}
				if !r.spend(ref.steps()) || !yield(ref, place) {
					return
				}
			}
		}
		for f, place := range route.eachFilter(r) {
			for _, to := range []struct {
				ref   *ObjectRef
				field string
				port  int32
			}{{f.Mirror, mirrorField, f.MirrorPort}, {f.Auth, authField, f.AuthPort}} {
				place.field, place.port = to.field, to.port
				if to.ref != nil && (!r.spend(to.ref.steps()) || !yield(to.ref, place)) {
					return
				}
			}
		}
	}
}

// The fields of a filter that have the backend to which it sends requests.
const (
	mirrorField = "requestMirror"
	authField   = "externalAuth"
)

// routePlace is an element of a rule of a route.
type routePlace struct {
	rule    int
	backend int    // of backendRefs; -1 for the rule itself
	filter  int    // of the filters of either; -1 for the backend itself
	field   string // of the filter: the one with a backend; empty for the filter itself
	port    int32  // of the backend
}

// String returns the field, as users write it: spec.rules[0].backendRefs[1].filters[0].
func (p routePlace) String() string {
	s := "spec.rules[" + strconv.Itoa(p.rule) + "]"
	if p.backend >= 0 {
		s += ".backendRefs[" + strconv.Itoa(p.backend) + "]"
	}
	if p.filter >= 0 {
		s += ".filters[" + strconv.Itoa(p.filter) + "]"
	}
	return s
}

// backendField returns the field of the reference to a backend.
func (p routePlace) backendField() string {
	if p.filter >= 0 {
		return p.String() + "." + p.field + ".backendRef"
	}
	return p.String()
}

// identity returns the identity of a finding about the backend: one that gets requests does not exempt one that gets
// copies of others' requests, or decides about them, and one port does not exempt another.
func (p routePlace) identity(check string, backend *ObjectRef, r *report) identity {
	id := backend.identity(check, r)
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

// backendsCrossNamespace is backends.crossNamespace: it finds each backend in another namespace than that of the route.
type backendsCrossNamespace struct{}

func (backendsCrossNamespace) find(route *routeView, r *report) {
	for ref, place := range route.eachBackend(r) {
		if ref.namespace(r) == r.subject.namespace {
			continue
		}
		if f := r.tryAdd(place.identity("backends.crossNamespace", ref, r)); f != nil {
			f.Path, f.Reason = place.backendField()+".namespace", ref.describe(r)+" is in another namespace"
		}
	}
}

// backendsKinds is backends.kinds: it finds each backend of a kind that no pattern matches.
type backendsKinds struct {
	kinds   []match.Glob
	passing string // the end of its sentences
}

func (c backendsKinds) find(route *routeView, r *report) {
	for ref, place := range route.eachBackend(r) {
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
