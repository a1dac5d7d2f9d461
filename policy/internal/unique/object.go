package unique

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/object"
)

// Object is an object for an Index. The fields after Object are not part of package object, because decisions about a
// single object don't depend on them.
type Object struct {
	Kind, Namespace, Name string
	Created               time.Time // zero if unknown
	Ref                   int       // for the caller; Duplicate has it
	Object                any       // a pointer to a type of package object
	Selector              map[string]string
	Matches               []string         // of an HTTPRoute or GRPCRoute: a text for each match, equal for equal matches
	Parent                object.Reference // of a ListenerSet
}

// traits are the properties of an object on which a comparison depends, except for its namespace. Most objects share
// their traits with many others.
type traits struct {
	kind  string
	group group
	class string // of an Ingress
	// canary, mergeable, albGroup and setIdentifier are values of annotations; see newTraits.
	canary                             bool
	mergeable, albGroup, setIdentifier string
	solver                             bool
	path                               string // of an OpenShift Route
	parents                            []parent
	matches                            []string // sorted
}

// group contains the kinds of an API whose objects one controller serves together.
type group uint8

const (
	other group = iota
	ingresses
	routes
	gateways
	openShiftRoutes
)

// parent is a Gateway, or another parent of routes. An empty section and a zero port mean every listener.
type parent struct {
	object.Reference
	section string
	port    int32
}

// challengePath is the path from which a certificate authority reads the answer to a challenge (RFC 8555, 8.3).
const challengePath = "/.well-known/acme-challenge/"

// newTraits returns the traits of an object. Annotations are recognized by the name after the prefix, because prefixes
// can be configured.
func newTraits(o *Object, m *object.Meta) *traits {
	t := &traits{kind: o.Kind}
	for key, value := range m.Annotations {
		if len(key) > object.MaxAnnotationKey || len(value) > object.MaxAnnotationKey {
			continue
		}
		switch _, name, _ := strings.Cut(match.LowerASCII(key), "/"); name {
		case "canary": // ingress-nginx
			t.canary = t.canary || value == "true"
		case "mergeable-ingress-type": // F5 NGINX: master or minion
			t.mergeable = value
		case "group.name": // AWS Load Balancer Controller
			t.albGroup = value
		case "set-identifier": // external-dns
			t.setIdentifier = value
		}
	}
	paths := []string{}
	switch v := o.Object.(type) {
	case *object.Ingress:
		t.group, t.class = ingresses, m.Annotations["kubernetes.io/ingress.class"]
		if v.ClassName != nil {
			t.class = *v.ClassName
		}
		for _, slot := range ingressPaths(v) {
			paths = append(paths, slot.path)
		}
	case *object.OpenShiftRoute:
		t.group, t.path = openShiftRoutes, cmp.Or(v.Path, "/")
		paths = append(paths, t.path)
	case *object.Route:
		t.group, t.matches = routes, slices.Compact(slices.Sorted(slices.Values(o.Matches)))
		for _, p := range v.Parents {
			t.parents = append(t.parents, parent{within(p.Reference, o.Namespace), p.SectionName, p.Port})
		}
		paths = routePaths(v)
	case *object.Gateway:
		t.group = gateways
		of := object.Reference{Kind: "Gateway", Name: o.Name}
		if o.Kind != "Gateway" {
			of = o.Parent
		}
		of.Kind = "Gateway"
		t.parents = []parent{{Reference: within(of, o.Namespace)}}
	}
	t.solver = len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool {
		return !strings.HasPrefix(p, challengePath)
	})
	return t
}

// within returns a reference with its default namespace.
func within(r object.Reference, namespace string) object.Reference {
	r.Namespace = cmp.Or(r.Namespace, namespace)
	return r
}
