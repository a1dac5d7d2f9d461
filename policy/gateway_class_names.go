package policy

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// gatewayClassRules is the field classNames of a gateways entry: {allowed: [internal, "public-*"]}.
type gatewayClassRules struct {
	// Allowed lists the classes that spec.gatewayClassName may name, * for any run of characters. [] denies all.
	Allowed []match.Glob `yaml:"allowed,required"`
}

func (b *gatewayClassRules) checks() []check[gatewayView] {
	if b == nil {
		return nil
	}
	return []check[gatewayView]{gatewayClassesAllowed{b.Allowed, passing(b.Allowed)}}
}

// gatewayClassesAllowed (classNames.allowed) finds a spec.gatewayClassName that no pattern matches. A ListenerSet has
// none and passes: it is served by the class of its Gateway, which was judged, and which says by allowedListeners
// whose ListenerSets it takes.
type gatewayClassesAllowed struct {
	patterns []match.Glob
	passing  string // the end of its sentences
}

func (c gatewayClassesAllowed) find(g *gatewayView, r *report) {
	if g.ClassName == "" || !r.spend(stepsOf(len(c.patterns), g.ClassName)) || matchesAny(c.patterns, g.ClassName) {
		return
	}
	r.add(identity{check: "classNames.allowed", value: g.ClassName}, "spec.gatewayClassName",
		text.Quote(g.ClassName)+" is not allowed"+c.passing)
}
