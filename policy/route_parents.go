package policy

import (
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// routeParentRules is the parents block of a routes entry. It validates spec.parentRefs of any kind: Gateways,
// ListenerSets, and Services, by which a route belongs to a mesh. A parent without a namespace is in the namespace of
// the route. A route without parents passes, because it is not attached to anything.
type routeParentRules struct {
	// Allowed lists the parents that pass. [] denies every parent. The experimental field useDefaultGateways never
	// passes, because it attaches the route to Gateways that the route does not list.
	Allowed []routeParent `yaml:"allowed"`
	// CrossNamespace: deny means that parents must be in the namespace of the route, and that useDefaultGateways must not
	// be set.
	CrossNamespace rule.Denial `yaml:"crossNamespace"`
}

// routeParent is an allowed parent: {namespace: edge, name: "public-*", sectionName: https}, with * for any run of
// characters.
type routeParent struct {
	// Kind is Gateway, ListenerSet or Service. Kinds of other groups are written as Kind.group. Absent: any kind.
	Kind match.Glob `yaml:"kind"`
	// Namespace is the namespace of the parent, with * for any run of characters. Absent: the namespace of the route.
	Namespace match.Glob `yaml:"namespace"`
	// Name is the name of the parent, with * for any run of characters. Absent: any name.
	Name match.Glob `yaml:"name"`
	// SectionName is the name of a listener. A route without a sectionName attaches to all listeners, and passes only if
	// this field is absent.
	SectionName match.Glob `yaml:"sectionName"`
}

// String returns the parent for messages: edge/public (sectionName https).
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
func (p routeParent) Describe() map[string]any {
	fields := map[string]any{"text": p.String()}
	for name, pattern := range map[string]match.Glob{
		"kind": p.Kind, "namespace": p.Namespace, "name": p.Name, "sectionName": p.SectionName,
	} {
		if pattern != "" {
			fields[name] = string(pattern)
		}
	}
	return fields
}

func (p *routeParent) Validate() error {
	var faults strict.Faults
	if *p == (routeParent{}) {
		faults.Add(rule.ErrNoCheck("kind, namespace, name or sectionName"))
	}
	if err := match.Namespaces().Check(p.Namespace); p.Namespace != "" && err != nil {
		faults.Fieldf("namespace", "%v", err)
	}
	return faults.Err()
}

func (p *routeParentRules) Validate() error {
	return rule.RejectNone(p.checks(), "allowed or crossNamespace")
}

func (p *routeParentRules) checks() []rule.Check[routeView] {
	return rule.Checks(
		rule.When(p.Allowed != nil, parentsAllowed{p.Allowed, rule.Passing(text.Strings(p.Allowed))}),
		rule.When(p.CrossNamespace, parentsCrossNamespace{}),
	)
}

func isServiceParent(p object.RouteParent) bool { return p.Kind == "Service" }

// attachesByDefault reports whether the route attaches to Gateways that it does not list.
func (route *routeView) attachesByDefault() bool {
	return route.DefaultGateways != "" && route.DefaultGateways != "None"
}

const defaultGatewaysField = "spec.useDefaultGateways"

// parentIdentity returns the identity of a finding about the parent. It does not depend on the position in the list.
func parentIdentity(p *object.RouteParent, check string, r *rule.Recorder) rule.Identity {
	id := refIdentity(&p.Reference, check, r)
	id.Part = p.Port
	switch {
	case p.SectionName == "":
	case p.Kind == "Gateway."+gatewayGroup: // true for nearly all parents; no copy is needed
		id.Use = p.SectionName
	default: // a copy, not longer than the API server allows
		id.Use = p.Kind[:min(len(p.Kind), maxParentKind)] + " " + p.SectionName[:min(len(p.SectionName), maxSectionName)]
	}
	return id
}

// The lengths that Gateway API allows: a kind of 63 bytes with a group of 253 bytes, and a section name.
const (
	maxParentKind  = 63 + 1 + 253
	maxSectionName = 253
)

// parentsAllowed is the check parents.allowed. It finds each parent that no element of the list covers, and
// useDefaultGateways. The solver of an ACME challenge may attach to any listener of an allowed parent, because
// challenges use the listener for plain HTTP.
type parentsAllowed struct {
	allowed []routeParent
	passing string // the end of its messages
}

func (c parentsAllowed) Find(route *routeView, r *rule.Recorder) {
	for i := range route.Parents {
		p := &route.Parents[i]
		if !r.Spend(len(c.allowed) * refSteps(&p.Reference, p.SectionName)) {
			return
		}
		if c.passes(p, route.solver, r) {
			continue
		}
		if f := r.TryAdd(parentIdentity(p, "parents.allowed", r)); f != nil {
			f.Path, f.Reason = "spec.parentRefs["+strconv.Itoa(i)+"]", describeParent(p, r)+" is not allowed"+c.passing
		}
	}
	if route.attachesByDefault() {
		r.Add(rule.Identity{Check: "parents.allowed", Value: defaultGatewaysField}, defaultGatewaysField,
			"attaches to Gateways that the route does not list"+c.passing)
	}
}

func (c parentsAllowed) passes(p *object.RouteParent, solver bool, r *rule.Recorder) bool {
	namespace, kind := namespaceOfRef(&p.Reference, r), gatewayKindOf(&p.Reference)
	for _, a := range c.allowed {
		in := namespace == r.Subject.Namespace
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

func describeParent(p *object.RouteParent, r *rule.Recorder) string {
	s := describeRef(&p.Reference, r)
	if p.SectionName != "" {
		s += ", sectionName " + text.Quote(p.SectionName)
	}
	return s
}

// parentsCrossNamespace is the check parents.crossNamespace. It finds each parent outside the namespace of the route,
// and useDefaultGateways.
type parentsCrossNamespace struct{}

func (parentsCrossNamespace) Find(route *routeView, r *rule.Recorder) {
	for i := range route.Parents {
		p := &route.Parents[i]
		if !r.Spend(refSteps(&p.Reference)) {
			return
		}
		if namespaceOfRef(&p.Reference, r) == r.Subject.Namespace {
			continue
		}
		if f := r.TryAdd(parentIdentity(p, "parents.crossNamespace", r)); f != nil {
			f.Path, f.Reason = "spec.parentRefs["+strconv.Itoa(i)+"].namespace", describeParent(p, r)+" is in another namespace"
		}
	}
	if route.attachesByDefault() {
		r.Add(rule.Identity{Check: "parents.crossNamespace", Value: defaultGatewaysField}, defaultGatewaysField,
			"attaches to Gateways of other namespaces; list parents in spec.parentRefs instead")
	}
}
