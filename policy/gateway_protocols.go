package policy

import (
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// protocolRules is the field protocols: {allowed: [HTTPS, TLS]}.
type protocolRules struct {
	// Allowed lists the protocols that listeners may have: HTTP, HTTPS, TLS, TCP, UDP, and those of implementations, such
	// as example.com/quic, * for any run of characters. Upper and lower case differ, as in the API. [] denies all.
	Allowed []match.Glob `yaml:"allowed,required"`
}

func (b *protocolRules) checks() []check[gatewayView] {
	if b == nil {
		return nil
	}
	return []check[gatewayView]{protocolsAllowed{b.Allowed, passing(b.Allowed)}}
}

// protocolsAllowed (protocols.allowed) finds each spec.listeners[].protocol that no pattern matches, also an absent
// one. A finding is identified by the listener: a pre-existing one exempts no other listener.
type protocolsAllowed struct {
	patterns []match.Glob
	passing  string
}

func (c protocolsAllowed) find(g *gatewayView, r *report) {
	for i, l := range g.listeners(r) {
		if !r.spend(stepsOf(len(c.patterns), l.Protocol)) {
			return
		}
		if matchesAny(c.patterns, l.Protocol) {
			continue
		}
		if f := r.tryAdd(l.identity("protocols.allowed", l.Protocol)); f != nil {
			f.Path, f.Reason = listenerPath(i, "protocol"), text.Quote(l.Protocol)+" is not allowed"+c.passing
		}
	}
}

// identity returns the identity of a finding about a value of the listener.
func (l *Listener) identity(check, value string) identity {
	return identity{check: check, value: value, detail: l.Name}
}

// listenerPath returns the path of a field of a listener, as users write it.
func listenerPath(i int, field string) string {
	return "spec.listeners[" + strconv.Itoa(i) + "]." + field
}
