package policy

import (
	"iter"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// backendRules is the backends block of a routes or gateways entry. In a route, it validates
// spec.rules[].backendRefs[]. It also validates the backends to which filters of type RequestMirror and ExternalAuth
// send each request, in rules, in backendRefs, and in the listeners of a Gateway or a ListenerSet. Filters of listeners
// are an experimental field of Gateway API: see filters. A backend without a namespace is in the namespace of the
// object.
type backendRules struct {
	// CrossNamespace: deny means that backends must be in the namespace of the object. If it is absent, a ReferenceGrant
	// in the other namespace decides.
	CrossNamespace rule.Denial `yaml:"crossNamespace"`
	// Kinds lists the kinds of backends that pass, with * for any run of characters: [Service,
	// ServiceImport.multicluster.x-k8s.io]. A kind without a group is in the core group. [] denies every backend.
	Kinds []match.Glob `yaml:"kinds"`
}

func (b *backendRules) Validate() error {
	return rule.RejectNone(backendChecks[routeView](b, nil), "crossNamespace or kinds")
}

// backendChecks compiles rules for the backends that the function each yields. It returns nil if b is nil.
func backendChecks[T any](b *backendRules, each eachBackend[T]) []rule.Check[T] {
	if b == nil {
		return nil
	}
	return rule.Checks(
		rule.When(b.CrossNamespace, backendsCrossNamespace[T]{each}),
		rule.When(b.Kinds != nil, backendsKinds[T]{each, b.Kinds, rule.Passing(b.Kinds)}),
	)
}

// eachBackend yields every backend of an object and its place. It stops if there are not enough steps left for the next
// backend.
type eachBackend[T any] = func(obj *T, r *rule.Recorder) iter.Seq2[*object.Reference, filterPlace]

// eachBackend yields the backends of a route: the backends of its rules first, and then the backends of its filters.
func (route *routeView) eachBackend(r *rule.Recorder) iter.Seq2[*object.Reference, filterPlace] {
	return func(yield func(*object.Reference, filterPlace) bool) {
		for i := range route.Rules {
			backends := route.Rules[i].Backends
			for j := range backends {
				ref := &backends[j].Reference
				place := filterPlace{within: rulesField, element: i, backend: j, filter: -1, port: backends[j].Port}
				if !r.Spend(refSteps(ref)) || !yield(ref, place) {
					return
				}
			}
		}
		for f, place := range route.eachFilter(r) {
			if !eachBackendOf(f, place, r, yield) {
				return
			}
		}
	}
}

// eachBackendOf yields the backends of a filter, and reports whether the caller may continue.
func eachBackendOf(
	f *object.RouteFilter, at filterPlace, r *rule.Recorder, yield func(*object.Reference, filterPlace) bool,
) bool {
	for _, to := range []struct {
		ref   *object.Reference
		field string
		port  int32
	}{{f.Mirror, mirrorField, f.MirrorPort}, {f.Auth, authField, f.AuthPort}} {
		at.field, at.port = to.field, to.port
		if to.ref != nil && (!r.Spend(refSteps(to.ref)) || !yield(to.ref, at)) {
			return false
		}
	}
	return true
}

// The fields of a filter that contain the backend to which it sends requests.
const (
	mirrorField = "requestMirror"
	authField   = "externalAuth"
)

// identity returns the identity of a finding about the backend. The identity contains the use and the port, so a
// pre-existing finding does not cover another use or port of the same backend. The uses are: the backend receives
// requests, receives copies of requests, or authorizes requests.
func (p filterPlace) identity(check string, backend *object.Reference, r *rule.Recorder) rule.Identity {
	id := p.identityOf(check, backend, r)
	const uses = 3
	id.Part = p.port * uses // a port has 16 bits
	switch {
	case p.filter < 0:
	case p.field == mirrorField:
		id.Part++
	default:
		id.Part += 2
	}
	return id
}

// backendsCrossNamespace is the check backends.crossNamespace. It finds each backend in another namespace than the
// object. A backend of Istio's kind Hostname has the host name of a Service in any namespace, and Istio does not
// require a ReferenceGrant for it (pilot/pkg/config/kube/gateway/conversion.go, buildDestination).
type backendsCrossNamespace[T any] struct{ each eachBackend[T] }

func (c backendsCrossNamespace[T]) Find(obj *T, r *rule.Recorder) {
	for ref, place := range c.each(obj, r) {
		field, reason := "", ""
		switch {
		case namespaceOfRef(ref, r) != r.Subject.Namespace:
			field, reason = ".namespace", " is in another namespace"
		case ref.Kind == istioHostname:
			field, reason = ".kind", " may be a Service in another namespace; write kind Service"
		default:
			continue
		}
		if f := r.TryAdd(place.identity("backends.crossNamespace", ref, r)); f != nil {
			f.Path, f.Reason = place.backendField()+field, describeRef(ref, r)+reason
		}
	}
}

// istioHostname is a kind of backend. Its name is a host name of the mesh.
const istioHostname = "Hostname.networking.istio.io"

// backendsKinds is the check backends.kinds. It finds each backend with a kind that no pattern matches.
type backendsKinds[T any] struct {
	each    eachBackend[T]
	kinds   []match.Glob
	passing string // the end of its messages
}

func (c backendsKinds[T]) Find(obj *T, r *rule.Recorder) {
	for ref, place := range c.each(obj, r) {
		if !r.Spend(len(c.kinds) * refSteps(ref)) {
			return
		}
		if match.AnyGlob(c.kinds, ref.Kind) {
			continue
		}
		if f := r.TryAdd(place.identity("backends.kinds", ref, r)); f != nil {
			f.Path, f.Reason = place.backendField()+".kind", text.Quote(ref.Kind)+" is not allowed"+c.passing
		}
	}
}
