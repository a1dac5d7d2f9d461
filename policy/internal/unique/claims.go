package unique

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// values calls add with each value that an object claims, as far as the entry reads it, and with the field of the
// value.
func (e *Entry) values(o *Object, m *object.Meta, known *claim.Annotations, add func(value, field string)) {
	svc, isService := o.Object.(*object.Service)
	switch {
	case e.What == annotation && m.Annotations[e.Annotation] != "":
		add(m.Annotations[e.Annotation], "metadata.annotations["+text.QuoteUpTo(object.MaxAnnotationKey, e.Annotation)+"]")
	case e.What == serviceSelectors && isService && svc.Type != "ExternalName" && len(o.Selector) > 0:
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(o.Selector)) {
			labels = append(labels, key+"="+o.Selector[key])
		}
		add(strings.Join(labels, ","), "spec.selector")
	case e.What == hostPaths, e.What == hosts:
		claims := claimsOf(o, known)
		for i := range claims {
			e.ofHost(o, &claims[i], i, add)
		}
	}
}

// challengePath is the path from which a certificate authority reads the answer to a challenge (RFC 8555, 8.3).
const challengePath = "/.well-known/acme-challenge/"

// ofHost calls add with the values that belong to claim i of an object, except for the solver of an ACME challenge. A
// wildcard is the same value in every field, because *.example covers the names one label below example in each of
// them. A claim of every host counts only with a path, or with the port of a listener.
func (e *Entry) ofHost(o *Object, c *claim.Claim, i int, add func(value, field string)) {
	host, ok := c.Value()
	var paths []string
	if c.InMainField() {
		paths = pathsOf(o.Object, i)
	}
	others := func(path string) bool { return !strings.HasPrefix(path, challengePath) }
	switch g, isGateway := o.Object.(*object.Gateway); {
	case !ok, len(paths) > 0 && !slices.ContainsFunc(paths, others):
	case e.What == hostPaths:
		for _, path := range paths {
			add(host+path, c.Path())
		}
	case isGateway && i < len(g.Listeners):
		add(host+":"+strconv.Itoa(int(g.Listeners[i].Port)), c.Path())
	case !c.IsEvery():
		add(host, c.Path())
	}
}

// claimsOf returns the claims of an object. It leaves out Certificates and DNSEndpoints, because they belong to the
// host of another object.
func claimsOf(o *Object, known *claim.Annotations) []claim.Claim {
	r := new(rule.Recorder)
	switch v := o.Object.(type) {
	case *object.Ingress: // its class does not change the value of a wildcard
		return claim.OfIngress(v, claim.OfRules(v, [2]string{}, known, r), known, r)
	case *object.Route:
		all, _ := claim.OfRoute(v, o.Kind, false, known, r)
		return all
	case *object.OpenShiftRoute:
		return claim.OfOpenShiftRoute(v, nil, known, r)
	case *object.Gateway:
		return claim.OfGateway(v, known, r)
	case *object.Service:
		if o.Kind == "Service" { // and not an XBackend
			return claim.OfService(v, known, r)
		}
	}
	return nil
}

// pathsOf returns the paths on which an object serves claim i. The type of a path does not distinguish it, because
// controllers read ImplementationSpecific in different ways.
func pathsOf(obj any, i int) (paths []string) {
	switch v := obj.(type) {
	case *object.Ingress:
		if i < len(v.Rules) {
			for _, p := range v.Rules[i].Paths {
				paths = append(paths, cmp.Or(p.Path, "/"))
			}
		}
	case *object.OpenShiftRoute:
		paths = append(paths, cmp.Or(v.Path, "/"))
	case *object.Route:
		for j := range v.Rules {
			matches := v.Rules[j].Matches
			if len(matches) == 0 {
				matches = make([]object.RouteMatch, 1)
			}
			for _, m := range matches {
				path := cmp.Or(m.Path.Value, "/")
				if m.Method.Service != "" {
					path = "/" + m.Method.Service + "/" + m.Method.Method
				}
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// traits are the properties of an object on which a comparison depends, except its reference. Objects share them.
type traits struct {
	api                  string   // one controller can serve the kinds of an API together
	parts                []string // of a host, sorted: the matches of a route or its path. Empty means the whole host
	canary               bool     // see newTraits
	merge, group, record string   // see newTraits
	// servers serve the object: a class of Ingresses, or the parents of routes. A listener has its Gateway.
	servers []object.RouteParent
}

// newTraits returns the traits of an object. It recognizes annotations by the name after the prefix, because prefixes
// can be configured.
func newTraits(o *Object, m *object.Meta) *traits {
	t := &traits{api: fmt.Sprintf("%T", o.Object), parts: slices.Sorted(slices.Values(o.Matches))}
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		value := m.Annotations[key]
		switch key[strings.IndexByte(key, '/')+1:] {
		case "canary": // ingress-nginx
			t.canary = value == "true"
		case "mergeable-ingress-type": // F5 NGINX: master or minion
			t.merge = value
		case "group.name": // AWS Load Balancer Controller
			t.group = value
		case "set-identifier": // external-dns
			t.record = value
		}
	}
	t.servers = []object.RouteParent{{Reference: object.Reference{Kind: o.Kind}}}
	of := &t.servers[0].Reference
	switch v := o.Object.(type) {
	case *object.Ingress:
		of.Name = m.Annotations["kubernetes.io/ingress.class"]
		if v.ClassName != nil {
			of.Name = *v.ClassName
		}
	case *object.OpenShiftRoute:
		t.parts = pathsOf(v, 0)
	case *object.Route:
		t.servers = slices.Clone(v.Parents)
		for i := range t.servers {
			t.servers[i].Namespace = cmp.Or(v.Parents[i].Namespace, o.Namespace)
		}
	case *object.Gateway:
		*of = object.Reference{
			Kind:      "Gateway.gateway.networking.k8s.io",
			Namespace: cmp.Or(o.Parent.Namespace, o.Namespace), Name: cmp.Or(o.Parent.Name, o.Name),
		}
	}
	return t
}

// conflict reports whether two claims of one value are duplicates. docs/policy/unique.md has the rules with their
// sources.
func (x *Index) conflict(a, b *record) bool {
	e, p, q := &x.entries[a.entry], &x.objects[a.object], &x.objects[b.object]
	together := p.Namespace == q.Namespace
	host := func(s string) match.HostPattern { return match.ParseHost(s[:strings.IndexAny(s+"/", "/:")]) }
	switch {
	case p.Reference == q.Reference,
		e.local() && !together,
		e.ShareWithin == withinNamespace && together,
		e.ShareWithin == withinOwner && x.owners.Share(host(a.text), p.Namespace, q.Namespace):
		return false
	case e.What == serviceSelectors, e.What == annotation:
		return true
	case together && (p.canary || q.canary),
		e.What == hosts && (p.merge == "minion" && q.merge != "" || p.merge != "" && q.merge == "minion"),
		p.group != "" && p.group == q.group,
		p.record != "" && q.record != "" && p.record != q.record:
		return false
	case p.api != q.api: // a team that moves to another API, or a Gateway and its routes
		return !together && !p.meets(q.traits)
	case !p.meets(q.traits):
		return false
	case p.Kind != q.Kind: // an HTTPRoute and a GRPCRoute can't share a host (GEP-1016). Others need another listener
		others := []string{"TLSRoute", "TCPRoute", "UDPRoute"}
		return !slices.Contains(others, p.Kind) && !slices.Contains(others, q.Kind)
	}
	whole := len(p.parts) == 0 || len(q.parts) == 0 || p.Kind == "Route" && !together
	return whole || slices.ContainsFunc(p.parts, func(part string) bool {
		_, found := slices.BinarySearch(q.parts, part)
		return found
	})
}

// meets reports whether the same server, with the same listener, serves two objects.
func (t *traits) meets(u *traits) bool {
	return slices.ContainsFunc(t.servers, func(p object.RouteParent) bool {
		return slices.ContainsFunc(u.servers, func(q object.RouteParent) bool {
			section := p.SectionName == q.SectionName || p.SectionName == "" || q.SectionName == ""
			return p.Reference == q.Reference && section && (p.Port == q.Port || p.Port == 0 || q.Port == 0)
		})
	})
}
