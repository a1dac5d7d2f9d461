package policy

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// ingressBackendRules is the backends block of an ingresses entry. It validates the backends of spec.rules and
// spec.defaultBackend. An Ingress can only have backends in its namespace. The Ingresses of solvers pass.
type ingressBackendRules struct {
	// Ports lists the ports that pass, and ranges of ports: ["80", "8000-8999"]. A name such as http allows the port of a
	// Service that has this name. Evergate does not know the number of a port that an Ingress refers to by its name.
	// [] denies all ports.
	Ports []backendPort `yaml:"ports"`
	// Services lists the names of Services that pass, with * for any run of characters: ["*-web"]. A backend of another
	// kind (resource) does not pass. [] denies all backends.
	Services []match.Glob `yaml:"services"`
}

// backendPort is a port of a Service: a range of numbers, or a name.
type backendPort struct {
	portRange
	name string
}

// UnmarshalText accepts a port, a range of ports, or the name of a port, which has a letter.
func (p *backendPort) UnmarshalText(b []byte) error {
	s := string(b)
	if len(s) <= 15 && match.IsAlphanumeric(s, "-") && s == match.LowerASCII(s) && strings.Trim(s, "0123456789-") != "" {
		p.name = s
		return nil
	}
	return p.portRange.UnmarshalText(b)
}

func (p backendPort) String() string {
	if p.name != "" {
		return p.name
	}
	return p.portRange.String()
}

func (b *ingressBackendRules) Validate() error {
	return rule.RejectNone(b.checks(), "ports or services")
}

func (b *ingressBackendRules) checks() []rule.Check[ingressView] {
	return rule.Checks(
		rule.When(b.Ports != nil, ingressBackendPorts{b.Ports, rule.Passing(text.Strings(b.Ports))}),
		rule.When(b.Services != nil, ingressBackendServices{b.Services, rule.Passing(b.Services)}),
	)
}

// eachBackend yields every backend of an Ingress and its field, without spec. It stops if there are not enough steps
// left to compare the backend with n patterns.
func (ing *ingressView) eachBackend(n int, r *rule.Recorder) iter.Seq2[*object.IngressBackend, func() string] {
	return func(yield func(*object.IngressBackend, func() string) bool) {
		visit := func(b *object.IngressBackend, field func() string) bool {
			return r.Spend(rule.StepsOf(n, b.Service)+rule.StepsOf(n, b.PortName)) && yield(b, field)
		}
		for i := range ing.Rules {
			paths := ing.Rules[i].Paths
			for j := range paths {
				if !visit(&paths[j].Backend, func() string {
					return "spec.rules[" + strconv.Itoa(i) + "].http.paths[" + strconv.Itoa(j) + "].backend"
				}) {
					return
				}
			}
		}
		if ing.DefaultBackend != nil {
			visit(ing.DefaultBackend, func() string { return "spec.defaultBackend" })
		}
	}
}

// ingressBackendPorts is the check backends.ports. It finds each backend whose port is not listed. A resource does not
// have a port and passes.
type ingressBackendPorts struct {
	ports   []backendPort
	passing string
}

func (c ingressBackendPorts) Find(ing *ingressView, r *rule.Recorder) {
	for b, field := range ing.eachBackend(1+len(c.ports), r) {
		if b.ResourceKind != "" || slices.ContainsFunc(c.ports, func(p backendPort) bool {
			if p.name != "" {
				return p.name == b.PortName
			}
			return b.PortName == "" && p.low <= b.Port && b.Port <= p.high
		}) {
			continue
		}
		id := rule.Identity{Check: "backends.ports", Value: b.Service, Detail: b.PortName, Part: b.Port}
		if f := r.TryAdd(id); f != nil {
			f.Path, f.Reason = field()+".service.port.number", portText(b.Port)+" is not allowed"+c.passing
			if b.PortName != "" {
				f.Path, f.Reason = field()+".service.port.name", text.Quote(b.PortName)+" is not allowed"+c.passing
			}
		}
	}
}

// ingressBackendServices is the check backends.services. It finds each backend that is not a Service, and each Service
// whose name no pattern matches.
type ingressBackendServices struct {
	names   []match.Glob
	passing string
}

func (c ingressBackendServices) Find(ing *ingressView, r *rule.Recorder) {
	for b, field := range ing.eachBackend(1+len(c.names), r) {
		if b.ResourceKind == "" && match.AnyGlob(c.names, b.Service) {
			continue
		}
		id := rule.Identity{Check: "backends.services", Value: b.Service, Detail: b.ResourceName, Use: b.ResourceKind}
		if f := r.TryAdd(id); f != nil {
			f.Path, f.Reason = field()+".service.name", text.Quote(b.Service)+" is not allowed"+c.passing
			if b.ResourceKind != "" {
				f.Path, f.Reason = field()+".resource", text.Quote(b.ResourceKind)+" is not a Service"+c.passing
			}
		}
	}
}
