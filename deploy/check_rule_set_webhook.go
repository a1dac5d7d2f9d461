package deploy

import (
	"slices"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// ruleSetWebhook checks that, for each kind, the rule sets of the policy and the rule sets in the paths of webhooks are
// the same. An input without the policy or without a Deployment is not checked.
func ruleSetWebhook() check {
	return check{
		id: "rule-set-webhook", severity: Error, needs: []premise{together()},
		finds: "a webhook whose rule set does not have any entries for the kind that the webhook matches, or entries in " +
			"a rule set whose path no webhook calls",
		why: "the rule set was probably renamed only in the webhook or only in the policy. Evergate then denies " +
			"objects because it does not know the rule set, or allows them because no webhook calls the path of their rule " +
			"set",
		fix: "use the same name in clientConfig.service.path of the webhook, for example " +
			"/validate/ingresses/set/edge, and in match.set of the entries for this kind",
		run: func(c *cluster, r *reporter) {
			p, ok := c.policy()
			if !ok || len(c.servers) == 0 {
				return
			}
			for _, h := range c.hooks {
				w, set := admission.ParsePath(h.path())
				if w != nil && set != "" && p.In(set, w.Blocks...) == nil {
					r.error(h.ref, "its path contains the rule set %s, and no entry of %sis in this set; the policy has %s", set,
						w.Blocks[0], setsOf(p))
				}
			}
			for _, set := range p.Sets() {
				if !c.knowsWebhooks() {
					break
				}
				for block := range p.Counts().All() {
					paths := setPathsOf(block, set)
					if inSet(p, block, set) > 0 && !slices.ContainsFunc(paths, c.calls) {
						r.error(c.servers[0].ref, "its policy has entries in %s of the rule set %s, and no webhook calls %s", block, set,
							oneOf(paths))
					}
				}
			}
		},
	}
}

// setsOf lists the rule sets of a policy in a sentence.
func setsOf(p *policy.Policy) string {
	if sets := p.Sets(); len(sets) > 0 {
		return "the rule sets " + some(sets)
	}
	return "no rule set"
}

// inSet returns how many entries of a block are active and in a rule set.
func inSet(p *policy.Policy, block, set string) int {
	if in := p.In(set, block); in != nil {
		for name, n := range in.Counts().All() {
			if name == block {
				return n
			}
		}
	}
	return 0
}

// setPathsOf lists the paths that evaluate a block's entries in a rule set.
func setPathsOf(block, set string) []string {
	var paths []string
	for _, w := range admission.Webhooks() {
		if path := w.SetPath(set); path != "" && slices.Contains(w.Blocks, block) {
			paths = append(paths, path)
		}
	}
	return paths
}
