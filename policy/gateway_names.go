package policy

import (
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// gatewayClassRules is the classNames field of a gateways entry: {allowed: [internal, "public-*"]}.
type gatewayClassRules struct {
	// Allowed lists the classes that spec.gatewayClassName may have, * for any run of characters. [] denies all.
	Allowed []match.Glob `yaml:"allowed,required"`
}

// Find is the check classNames.allowed. It finds a spec.gatewayClassName that no pattern matches. A ListenerSet does
// not have a class and passes. The class of its Gateway serves it. The Gateway itself was evaluated, and its
// allowedListeners field restricts which ListenerSets may attach.
func (b *gatewayClassRules) Find(g *gatewayView, r *rule.Recorder) {
	if g.ClassName == "" || !r.Spend(rule.StepsOf(len(b.Allowed), g.ClassName)) || match.AnyGlob(b.Allowed, g.ClassName) {
		return
	}
	r.Add(rule.Identity{Check: "classNames.allowed", Value: g.ClassName}, "spec.gatewayClassName",
		text.Quote(g.ClassName)+" is not allowed"+rule.Passing(b.Allowed))
}

// protocolRules is the protocols field of a gateways entry: {allowed: [HTTPS, TLS]}.
type protocolRules struct {
	// Allowed lists the protocols that listeners may have, * for any run of characters. The protocols are HTTP, HTTPS,
	// TLS, TCP, UDP, and implementation-specific protocols such as example.com/quic. They are case-sensitive, as in the
	// API. [] denies all.
	Allowed []match.Glob `yaml:"allowed,required"`
}

// Find is the check protocols.allowed. It finds each spec.listeners[].protocol that no pattern matches. An absent
// protocol does not match. A finding is identified by the listener, so a pre-existing finding does not exempt another
// listener.
func (b *protocolRules) Find(g *gatewayView, r *rule.Recorder) {
	for i, l := range g.listeners(r) {
		if !r.Spend(rule.StepsOf(len(b.Allowed), l.Protocol)) {
			return
		}
		if match.AnyGlob(b.Allowed, l.Protocol) {
			continue
		}
		if f := r.TryAdd(listenerIdentity(l, "protocols.allowed", l.Protocol)); f != nil {
			f.Path = listenerPath(i, "protocol")
			f.Reason = text.Quote(l.Protocol) + " is not allowed" + rule.Passing(b.Allowed)
		}
	}
}

func listenerIdentity(l *object.Listener, check, value string) rule.Identity {
	return rule.Identity{Check: check, Value: value, Detail: l.Name}
}

func listenerPath(i int, field string) string {
	return "spec.listeners[" + strconv.Itoa(i) + "]." + field
}
