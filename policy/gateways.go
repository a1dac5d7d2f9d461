package policy

import (
	"errors"
	"iter"
	"slices"

	"github.com/evergate/evergate/policy/internal/strict"
)

// gatewaysEntry is an entry of gateways: a rule for Gateways and ListenerSets. Each field below is a block of checks;
// an absent one checks nothing, and at least one is required.
//
// A ListenerSet names no class: it has that of its parent, which is not in the object. A match by gatewayClassNames
// covers every ListenerSet therefore, and an exclude by them none.
type gatewaysEntry struct {
	ruleHeader
	// Hosts: which hosts the listeners and the annotations may claim.
	Hosts *fieldHostRules `yaml:"hosts"`
	// ClassNames: which controllers may serve it.
	ClassNames *gatewayClassRules `yaml:"classNames"`
	// Ports: which ports its listeners may have.
	Ports *portRules `yaml:"ports"`
	// Protocols: which protocols its listeners may have.
	Protocols *protocolRules `yaml:"protocols"`
	// TLS: how its listeners may serve TLS.
	TLS *gatewayTLSRules `yaml:"tls"`
	// AllowedRoutes: from which namespaces its listeners may take routes.
	AllowedRoutes *allowedRouteRules `yaml:"allowedRoutes"`
	// AllowedListeners: from which namespaces it may take ListenerSets.
	AllowedListeners *allowedListenerRules `yaml:"allowedListeners"`
	// Backends: to which objects the filters of its listeners may send requests.
	Backends *listenerBackendRules `yaml:"backends"`
	// Filters: which filters its listeners may have.
	Filters *listenerFilterRules `yaml:"filters"`
	// Annotations: which annotations it may or must have.
	Annotations *annotationRules `yaml:"annotations"`
	// Addresses: which addresses it may ask for.
	Addresses *gatewayAddressRules `yaml:"addresses"`
}

// Suggest implements strict.Suggester.
func (e *gatewaysEntry) Suggest(field string) []string { return gatewayDimensions().suggest(field) }

// Validate implements strict.Validator.
func (e *gatewaysEntry) Validate() error {
	err := e.header.validate(gatewayDimensions())
	switch {
	case e.Annotations != nil && len(annotationChecks[gatewayView](e.Annotations)) == 0:
		none := errNoCheck("denied, required, values or deniedValues")
		return errors.Join(err, strict.Fieldf("annotations", "%v", none))
	case len(e.checks()) == 0:
		return errors.Join(err, errNoCheck("hosts, classNames, ports, protocols, tls, allowedRoutes, allowedListeners, "+
			"backends, filters, annotations or addresses"))
	}
	return err
}

// checks compiles the entry. Findings come in the order of its fields.
func (e *gatewaysEntry) checks() []check[gatewayView] {
	return slices.Concat(
		fieldHostChecks(e.Hosts, (*gatewayView).claims, "spec.listeners"),
		e.ClassNames.checks(),
		portChecks(e.Ports, "spec.listeners", (*gatewayView).port),
		e.Protocols.checks(),
		e.TLS.checks(),
		e.AllowedRoutes.checks(),
		e.AllowedListeners.checks(),
		e.Backends.checks(),
		e.Filters.checks(),
		annotationChecks[gatewayView](e.Annotations),
		e.Addresses.checks(),
	)
}

// gatewayView is a Gateway or a ListenerSet, and the values that its checks parse.
type gatewayView struct {
	*Gateway
	view
	claimed   claimSet  // see claims
	addresses []address // see gatewayIPs
}

func viewGateway(g *Gateway) gatewayView { return gatewayView{Gateway: g} }

// gatewayRules compiles the rules for Gateways and ListenerSets.
func gatewayRules(b *blocks, c *compilation) rules {
	return rulesOf(b.Gateways, c, func(e *gatewaysEntry) rule[gatewayView] {
		return rule[gatewayView]{e.ruleHeader, e.checks()}
	}, ownerRules(c.owners, claimsUnless(c.carriers, (*gatewayView).claims, always))...)
}

// EvaluateGateway evaluates a Gateway or a ListenerSet. old is the object before an update, nil otherwise.
func (p *Policy) EvaluateGateway(a Attributes, g, old *Gateway, e *Effort) ([]Finding, error) {
	return evaluate(rulesFor[gatewayView](p, Gateways), a, viewGateway, g, old, e)
}

// ExplainGateway returns for every gateways rule whether it applies to the Gateway or the ListenerSet.
func (p *Policy) ExplainGateway(a Attributes, g *Gateway) []RuleTrace {
	return explain(rulesFor[gatewayView](p, Gateways), a, viewGateway, g)
}

// port returns the port of listener i, and whether there is one.
func (g *Gateway) port(i int) (int32, bool) {
	if i >= len(g.Listeners) {
		return 0, false
	}
	return g.Listeners[i].Port, true
}

// listeners yields the listeners, as long as there are steps for them.
func (g *Gateway) listeners(r *report) iter.Seq2[int, *Listener] {
	return func(yield func(int, *Listener) bool) {
		for i := range g.Listeners {
			if !r.spend(1) || !yield(i, &g.Listeners[i]) {
				return
			}
		}
	}
}

// classes is spec.gatewayClassName.
func (g *Gateway) classes() classes { return classes{g.ClassName} }
