package policy

import (
	"errors"
	"iter"
	"slices"

	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// gatewaysEntry is an entry of gateways: a rule for Gateways and ListenerSets. Each field below is a block of checks.
// An absent block does not check anything. At least one block is required.
//
// A ListenerSet does not contain a class. It has the class of its parent, which is not part of the object. A match by
// gatewayClassNames therefore covers every ListenerSet, and an exclude by gatewayClassNames does not cover any.
type gatewaysEntry struct {
	rule.RuleHeader
	// Hosts restricts the hosts that the listeners and the annotations may claim.
	Hosts *claim.FieldHostRules `yaml:"hosts"`
	// ClassNames restricts the classes, and thereby the controllers, that may serve the object.
	ClassNames *gatewayClassRules `yaml:"classNames"`
	// Ports restricts the ports of the listeners.
	Ports *portRules `yaml:"ports"`
	// Protocols restricts the protocols of the listeners.
	Protocols *protocolRules `yaml:"protocols"`
	// TLS restricts the way in which listeners serve TLS.
	TLS *gatewayTLSRules `yaml:"tls"`
	// AllowedRoutes restricts the namespaces from which listeners may accept routes.
	AllowedRoutes *allowedRouteRules `yaml:"allowedRoutes"`
	// AllowedListeners restricts the namespaces from which the object may accept ListenerSets.
	AllowedListeners *allowedListenerRules `yaml:"allowedListeners"`
	// Backends restricts the objects to which the filters of listeners may send requests.
	Backends *backendRules `yaml:"backends"`
	// Filters restricts the filters of the listeners.
	Filters *listenerFilterRules `yaml:"filters"`
	// Annotations restricts the annotations that the object may have, and lists annotations that it must have.
	Annotations *annotationRules `yaml:"annotations"`
	// Addresses restricts the addresses that the object may request.
	Addresses *gatewayAddressRules `yaml:"addresses"`
}

func (e *gatewaysEntry) Suggest(field string) []string {
	return rule.GatewayDimensions().Suggest(field)
}

func (e *gatewaysEntry) Validate() error {
	return errors.Join(e.Header.ValidateFor(rule.GatewayDimensions()), rule.RejectNone(e.checks(), "hosts, classNames, "+
		"ports, protocols, tls, allowedRoutes, allowedListeners, backends, filters, annotations or addresses"))
}

// checks compiles the entry. Findings have the order of its fields.
func (e *gatewaysEntry) checks() []rule.Check[gatewayView] {
	return slices.Concat(
		claim.FieldChecks(e.Hosts, (*gatewayView).claims, "spec.listeners"),
		rule.Checks(rule.When(e.ClassNames != nil, e.ClassNames)),
		portChecks(e.Ports, "spec.listeners", (*gatewayView).port),
		rule.Checks(rule.When(e.Protocols != nil, e.Protocols)),
		rule.ChecksOf(e.TLS, (*gatewayTLSRules).checks),
		rule.Checks(rule.When(e.AllowedRoutes != nil, e.AllowedRoutes),
			rule.When(e.AllowedListeners != nil, e.AllowedListeners)),
		backendChecks(e.Backends, (*gatewayView).eachListenerBackend),
		rule.ChecksOf(e.Filters, (*listenerFilterRules).checks),
		annotationChecks[gatewayView](e.Annotations),
		rule.ChecksOf(e.Addresses, (*gatewayAddressRules).checks),
	)
}

// gatewayView contains a Gateway or a ListenerSet and the values that its checks parse.
type gatewayView struct {
	*object.Gateway
	view
	claimed   claim.Set // see claims
	addresses []address // see gatewayIPs
}

func viewGateway(g *object.Gateway) gatewayView {
	return gatewayView{Gateway: g, view: view{infrastructure: g.InfrastructureAnnotations}}
}

func gatewayRules(b *blocks, c *compilation) rules[object.Gateway] {
	return rulesOf(b.Gateways, c, viewGateway, func(e *gatewaysEntry) rule.Rule[gatewayView] {
		return rule.New(e.RuleHeader, e.checks())
	}, nil, claim.OwnerRules(c.owners, claim.Unless(c.sharedNamespaces, (*gatewayView).claims, nil))...)
}

// port returns the port of listener i, and UDP or TCP. ok is false if there is no such listener.
func (g *gatewayView) port(i int) (port int32, protocol string, ok bool) {
	if i >= len(g.Listeners) {
		return 0, "", false
	}
	if g.Listeners[i].Protocol == "UDP" {
		return g.Listeners[i].Port, "UDP", true
	}
	return g.Listeners[i].Port, "TCP", true
}

// listeners yields the listeners until the Effort is exceeded.
func (g *gatewayView) listeners(r *rule.Recorder) iter.Seq2[int, *object.Listener] {
	return func(yield func(int, *object.Listener) bool) {
		for i := range g.Listeners {
			if !r.Spend(1) || !yield(i, &g.Listeners[i]) {
				return
			}
		}
	}
}

// Classes returns spec.gatewayClassName.
func (g *gatewayView) Classes() [2]string { return [2]string{g.ClassName} }

func (g *gatewayView) claims(r *rule.Recorder) *claim.Set {
	if g.claimed.List == nil {
		g.claimed.List = claim.OfGateway(g.Gateway, g.known, r)
	}
	return &g.claimed
}
