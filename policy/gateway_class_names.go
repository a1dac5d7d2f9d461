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

func (b *gatewayClassRules) checks() []rule.Check[gatewayView] {
	return []rule.Check[gatewayView]{gatewayClassesAllowed{b.Allowed, rule.Passing(b.Allowed)}}
}

// gatewayClassesAllowed (classNames.allowed) finds a spec.gatewayClassName that no pattern matches. A ListenerSet does
// not have a class and passes. The class of its Gateway serves it. The Gateway itself was evaluated, and its
// allowedListeners field restricts which ListenerSets may attach.
type gatewayClassesAllowed struct {
	patterns []match.Glob
	passing  string // the end of its sentences
}

func (c gatewayClassesAllowed) Find(g *gatewayView, r *rule.Recorder) {
	if g.ClassName == "" || !r.Spend(rule.StepsOf(len(c.patterns), g.ClassName)) ||
		match.AnyGlob(c.patterns, g.ClassName) {
		return
	}
	r.Add(rule.Identity{Check: "classNames.allowed", Value: g.ClassName}, "spec.gatewayClassName",
		text.Quote(g.ClassName)+" is not allowed"+c.passing)
}
