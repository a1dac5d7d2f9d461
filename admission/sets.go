package admission

import (
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// setSegment is between the path of a webhook and the name of a rule set.
const setSegment = "/set/"

// SetPath returns the path of a rule set of the webhook, such as /validate/ingresses/set/edge. It returns "" if the
// webhook does not have rule sets, because it mutates or validates policies. If set is a pattern of a router, the
// result is the route of all rule sets.
func (w *Webhook) SetPath(set string) string {
	if w.Mutates || w.Guards {
		return ""
	}
	return w.Path + setSegment + set
}

// ParsePath returns the webhook that serves a path, and the rule set in the path, or "" if the path does not contain a
// set. The webhook is nil if the path is not served.
func ParsePath(path string) (w *Webhook, set string) {
	of, set, named := strings.Cut(path, setSegment)
	for _, w := range Webhooks() {
		if w.Path == of && (!named || w.SetPath(set) != "" && policy.IsSet(set)) {
			return &w, set
		}
	}
	return nil, ""
}

// policyOf returns the policy for a rule set's reviews, and p itself if set is empty. It returns nil if no entry in
// the webhook's blocks is in the set.
func (w *Webhook) policyOf(p *policy.Policy, set string) *policy.Policy {
	if set == "" {
		return p
	}
	return p.In(set, w.Blocks...)
}

// strictest returns the strictest mode among the entries that may apply to a rule set's reviews. If the set is unknown,
// all of the webhook's entries count, because nobody knows which of them the path should select.
func (w *Webhook) strictest(p *policy.Policy, set string) policy.Mode {
	if in := w.policyOf(p, set); in != nil {
		return w.Strictest(in.Strictest())
	}
	mode := w.Strictest(p.Strictest())
	for _, name := range p.Sets() {
		if in := w.policyOf(p, name); in != nil {
			mode = max(mode, w.Strictest(in.Strictest()))
		}
	}
	return mode
}

// unknownSet returns the reason that an object is not evaluated if the path contains an unknown rule set.
func (w *Webhook) unknownSet(set string) string {
	return "the webhook's path contains the rule set " + text.Quote(set) + ", and no entry of " + w.Blocks[0] +
		" is in it: correct the path in the webhook configuration, or match.set in the policy"
}
