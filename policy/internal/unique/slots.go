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
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// slot is a value that an object claims.
type slot struct {
	value string
	field string // of the object
	// record means that only a DNS record or a certificate is made for the host: nothing is served for it.
	record bool
}

// slots returns the values that an object claims, as far as the entry reads them.
func (e *Entry) slots(o *Object, m *object.Meta, known *claim.Annotations) []slot {
	switch e.What {
	case hosts:
		return hostSlots(o, known)
	case hostPaths:
		return pathSlots(o, known)
	case annotation:
		if v := m.Annotations[e.Annotation]; v != "" {
			key := text.QuoteUpTo(object.MaxAnnotationKey, e.Annotation)
			return []slot{{value: v, field: "metadata.annotations[" + key + "]"}}
		}
	case serviceSelectors:
		if svc, ok := o.Object.(*object.Service); ok && svc.Type != "ExternalName" && len(o.Selector) > 0 {
			var labels []string
			for _, key := range slices.Sorted(maps.Keys(o.Selector)) {
				labels = append(labels, key+"="+o.Selector[key])
			}
			return []slot{{value: strings.Join(labels, ","), field: "spec.selector"}}
		}
	}
	return nil
}

// claimsOf returns the claims of an object. It leaves out Certificates and DNSEndpoints, because they belong to the
// host of another object.
func claimsOf(o *Object, known *claim.Annotations, r *rule.Recorder) []claim.Claim {
	switch v := o.Object.(type) {
	case *object.Ingress:
		return claim.OfIngress(v, rulesOf(v, known, r), known, r)
	case *object.Route:
		_, all := claim.OfRoute(v, o.Kind, true, known, r)
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

func rulesOf(ing *object.Ingress, known *claim.Annotations, r *rule.Recorder) []claim.Claim {
	classes := [2]string{1: ing.Annotations["kubernetes.io/ingress.class"]}
	if ing.ClassName != nil {
		classes[0] = *ing.ClassName
	}
	return claim.OfRules(ing, classes, known, r)
}

// hostSlots returns the hosts of an object. A wildcard is the same in every field, because *.example shares the names
// one label below example with every other meaning of it. Claims of every host are left out, except in listeners, whose
// value includes the port.
func hostSlots(o *Object, known *claim.Annotations) []slot {
	var all []slot
	claims := claimsOf(o, known, new(rule.Recorder))
	for i := range claims {
		c := &claims[i]
		value, ok := c.Value()
		if g, isGateway := o.Object.(*object.Gateway); isGateway && i < len(g.Listeners) {
			value += ":" + strconv.Itoa(int(g.Listeners[i].Port))
		} else if c.IsEvery() {
			continue
		}
		if ok {
			all = append(all, slot{value, c.Path(), c.InAnnotation()})
		}
	}
	return all
}

// pathSlots returns the hosts of an object with their paths. spec.tls, annotations and listeners have no paths.
func pathSlots(o *Object, known *claim.Annotations) []slot {
	var all []slot
	r := new(rule.Recorder)
	switch v := o.Object.(type) {
	case *object.Ingress:
		claims := rulesOf(v, known, r)
		for _, p := range ingressPaths(v) {
			if host, ok := claims[p.rule].Value(); ok {
				all = append(all, slot{host + p.path, p.field(), false})
			}
		}
	case *object.OpenShiftRoute:
		for _, s := range hostSlots(o, known) {
			if !s.record {
				all = append(all, slot{s.value + cmp.Or(v.Path, "/"), s.field, false})
			}
		}
	case *object.Route:
		paths := slices.Compact(slices.Sorted(slices.Values(routePaths(v))))
		_, claims := claim.OfRoute(v, o.Kind, true, known, r)
		for i := range claims {
			host, ok := claims[i].Value()
			for _, path := range paths {
				if ok && !claims[i].InAnnotation() {
					all = append(all, slot{host + path, claims[i].Path(), false})
				}
			}
		}
	}
	return all
}

// ingressPath is a path in a rule of an Ingress.
type ingressPath struct {
	rule, index int
	path        string
}

func (p *ingressPath) field() string {
	return fmt.Sprintf("spec.rules[%d].http.paths[%d].path", p.rule, p.index)
}

// ingressPaths returns the paths of an Ingress. The type of a path does not distinguish it, because controllers read
// ImplementationSpecific in different ways.
func ingressPaths(ing *object.Ingress) []ingressPath {
	var all []ingressPath
	for i := range ing.Rules {
		for j, p := range ing.Rules[i].Paths {
			all = append(all, ingressPath{i, j, cmp.Or(p.Path, "/")})
		}
	}
	return all
}

// routePaths returns the path of each match of a route. A rule without matches has the path /.
func routePaths(route *object.Route) []string {
	var all []string
	for i := range route.Rules {
		matches := route.Rules[i].Matches
		if len(matches) == 0 {
			all = append(all, "/")
		}
		for _, m := range matches {
			path := cmp.Or(m.Path.Value, "/")
			if m.Method.Service != "" {
				path = "/" + m.Method.Service + "/" + m.Method.Method
			}
			all = append(all, path)
		}
	}
	return all
}
