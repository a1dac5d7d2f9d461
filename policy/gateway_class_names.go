package policy

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
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
