package policy

import (
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// routeParentRules is the field parents of a routes entry. It judges spec.parentRefs of any kind: Gateways,
// ListenerSets, and Services, by which a route belongs to a mesh. A parent without a namespace is in that of the route.
// A route without parents passes: it is attached to nothing.
type routeParentRules struct {
	// Allowed lists the parents that pass. [] means that none passes. The experimental field useDefaultGateways never
	// passes, since it attaches the route to Gateways that it does not name.
	Allowed []routeParent `yaml:"allowed"`
	// CrossNamespace: deny means that parents must be in the namespace of the route, and useDefaultGateways not set.
	CrossNamespace denial `yaml:"crossNamespace"`
}

// routeParent is a parent that is allowed: {namespace: edge, name: "public-*", sectionName: https}, * for any run of
// characters.
type routeParent struct {
	// Kind is Gateway, ListenerSet or Service, or, for a kind of another group, Kind.group. Absent: any.
	Kind match.Glob `yaml:"kind"`
	// Namespace is the namespace of the parent, * for any run of characters. Absent: that of the route.
	Namespace match.Glob `yaml:"namespace"`
	// Name is the name of the parent, * for any run of characters. Absent: any.
	Name match.Glob `yaml:"name"`
	// SectionName is the name of a listener. A route that names none attaches to all listeners, and passes only where
	// this is absent.
	SectionName match.Glob `yaml:"sectionName"`
}

// String returns the parent as sentences list it: edge/public, section https.
func (p routeParent) String() string {
	s := string(p.Name)
	if s == "" {
		s = "*"
	}
	if p.Namespace != "" {
		s = string(p.Namespace) + "/" + s
	}
	if p.Kind != "" {
		s = string(p.Kind) + " " + s
	}
	if p.SectionName != "" {
		s += " (sectionName " + string(p.SectionName) + ")"
	}
	return s
}

// describe implements describer.
func (p routeParent) describe() any {
	fields := Fields{"text": p.String()}
	for name, pattern := range map[string]match.Glob{
		"kind": p.Kind, "namespace": p.Namespace, "name": p.Name, "sectionName": p.SectionName,
	} {
		if pattern != "" {
			fields[name] = string(pattern)
		}
	}
	return fields
}

// Validate implements strict.Validator.
func (p *routeParent) Validate() error {
	var faults strict.Faults
	if *p == (routeParent{}) {
		faults.Add(errNoCheck("kind, namespace, name or sectionName"))
	}
	if err := match.Namespaces().Check(p.Namespace); p.Namespace != "" && err != nil {
		faults.Fieldf("namespace", "%v", err)
	}
	return faults.Err()
}

// Validate implements strict.Validator.
func (p *routeParentRules) Validate() error {
	if len(p.checks()) == 0 {
		return errNoCheck("allowed or crossNamespace")
	}
	return nil
}

// checks compiles the rules; nil has no checks.
func (p *routeParentRules) checks() []check[routeView] {
	if p == nil {
		return nil
	}
	var checks []check[routeView]
	if p.Allowed != nil {
		checks = append(checks, parentsAllowed{p.Allowed, passing(stringsOf(p.Allowed))})
	}
	if p.CrossNamespace {
		checks = append(checks, parentsCrossNamespace{})
	}
	return checks
}

// isService reports whether the parent is a Service of the core group.
func (p RouteParent) isService() bool { return p.Kind == "Service" }

// attachesByDefault reports whether the route attaches to Gateways that it does not name.
func (route *Route) attachesByDefault() bool {
	return route.DefaultGateways != "" && route.DefaultGateways != "None"
}

const defaultGatewaysField = "spec.useDefaultGateways"

// identity returns the identity of a finding about the parent: what it is attached to, wherever it stands in the list.
func (p *RouteParent) identity(check string, r *report) identity {
	id := p.ObjectRef.identity(check, r)
	id.part = p.Port
	switch {
	case p.SectionName == "":
	case p.Kind == "Gateway."+gatewayGroup: // as of nearly all parents; without a copy
		id.use = p.SectionName
	default: // a copy, of no more than the API server stores of a parent
		id.use = p.Kind[:min(len(p.Kind), maxParentKind)] + " " + p.SectionName[:min(len(p.SectionName), maxSectionName)]
	}
	return id
}

// These are the lengths that Gateway API allows: a kind of 63 bytes with a group of 253, and a section.
const (
	maxParentKind  = 63 + 1 + 253
	maxSectionName = 253
)

// parentsAllowed is parents.allowed: it finds each parent that no element of the list covers, and useDefaultGateways.
// The solver of an ACME challenge may attach to any listener of a parent: challenges come to the one for plain HTTP.
type parentsAllowed struct {
	allowed []routeParent
	passing string // the end of its sentences
}

func (c parentsAllowed) find(route *routeView, r *report) {
	for i := range route.Parents {
		p := &route.Parents[i]
		if !r.spend(len(c.allowed) * p.steps(p.SectionName)) {
			return
		}
		if c.passes(p, route.solver, r) {
			continue
		}
		if f := r.tryAdd(p.identity("parents.allowed", r)); f != nil {
			f.Path, f.Reason = "spec.parentRefs["+strconv.Itoa(i)+"]", p.describe(r)+" is not allowed"+c.passing
		}
	}
	if route.attachesByDefault() {
		r.add(identity{check: "parents.allowed", value: defaultGatewaysField}, defaultGatewaysField,
			"attaches to Gateways that the route does not name"+c.passing)
	}
}

func (c parentsAllowed) passes(p *RouteParent, solver bool, r *report) bool {
	namespace, kind := p.namespace(r), p.gatewayKind()
	for _, a := range c.allowed {
		in := namespace == r.subject.namespace
		if a.Namespace != "" {
			in = a.Namespace.Match(namespace)
		}
		if in && (a.Kind == "" || a.Kind.Match(kind)) && (a.Name == "" || a.Name.Match(p.Name)) &&
			(a.SectionName == "" || solver || p.SectionName != "" && a.SectionName.Match(p.SectionName)) {
			return true
		}
	}
	return false
}

// describe returns the parent as sentences name it.
func (p *RouteParent) describe(r *report) string {
	s := p.ObjectRef.describe(r)
	if p.SectionName != "" {
		s += ", sectionName " + text.Quote(p.SectionName)
	}
	return s
}

// parentsCrossNamespace is parents.crossNamespace: it finds each parent in another namespace than that of the route,
// and useDefaultGateways.
type parentsCrossNamespace struct{}

func (parentsCrossNamespace) find(route *routeView, r *report) {
	for i := range route.Parents {
		p := &route.Parents[i]
		if !r.spend(p.steps()) {
			return
		}
		if p.namespace(r) == r.subject.namespace {
			continue
		}
		if f := r.tryAdd(p.identity("parents.crossNamespace", r)); f != nil {
			f.Path, f.Reason = "spec.parentRefs["+strconv.Itoa(i)+"].namespace", p.describe(r)+" is in another namespace"
		}
	}
	if route.attachesByDefault() {
		r.add(identity{check: "parents.crossNamespace", value: defaultGatewaysField}, defaultGatewaysField,
			"attaches to Gateways of other namespaces; name parents in spec.parentRefs instead")
	}
}
