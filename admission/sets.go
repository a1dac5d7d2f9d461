package admission

import (
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// setSegment stands between the path of a webhook and the name of a set.
const setSegment = "/set/"

// SetPath returns the path of a set of the webhook's rules, as in /validate/ingresses/set/edge; empty for a webhook
// without sets: one that mutates, or guards policies. With a pattern of a router in place of a name it is the route of
// all sets.
func (w *Webhook) SetPath(set string) string {
	if w.Mutates || w.Guards {
		return ""
	}
	return w.Path + setSegment + set
}

// ParsePath returns the webhook that answers at a path, and the set that the path names; empty for none. The webhook is
// nil where nothing answers.
func ParsePath(path string) (w *Webhook, set string) {
	of, set, named := strings.Cut(path, setSegment)
	for _, w := range Webhooks() {
		if w.Path == of && (!named || w.SetPath(set) != "" && policy.IsSet(set)) {
			return &w, set
		}
	}
	return nil, ""
}

// policyOf returns the policy by which reviews of a set are judged: p itself without a set. It is nil for a set that no
// entry of the webhook's blocks is in.
func (w *Webhook) policyOf(p *policy.Policy, set string) *policy.Policy {
	if set == "" {
		return p
	}
	return p.In(set, w.Blocks...)
}

// strictest returns the strictest mode among the entries that may judge the reviews of a set. Of a set that is not
// known these are all entries of the webhook: which of them was meant is not known either.
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

// unknownSet is why an object is not judged that was sent to the path of a set that is not known.
func (w *Webhook) unknownSet(set string) string {
	return "the webhook's path names the set " + text.Quote(set) + ", and no entry of " + w.Blocks[0] +
		" is in it: correct the path in the webhook configuration, or match.set in the policy"
}
