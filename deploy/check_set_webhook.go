package deploy

import (
	"slices"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// setWebhook: the sets of the policy and those that paths of webhooks name are the same, kind by kind. An input without
// the policy, or without a Deployment, is not looked at.
func setWebhook() check {
	return check{
		id: "set-webhook", severity: Error, needs: []premise{together()},
		finds: "a webhook whose path names a set that no entry of the policy is in, and entries of a set whose path no " +
			"webhook calls",
		why: "the two were renamed apart: objects are denied because their set is not known, or pass because no review " +
			"asks for the rules that were written for them",
		fix: "let clientConfig.service.path of the webhook, as in /validate/ingresses/set/edge, and match.set of the " +
			"entries of this kind have the same name",
		run: func(c *cluster, r *reporter) {
			p, ok := c.policy()
			if !ok {
				return
			}
			for _, h := range c.hooks {
				w, set := admission.ParsePath(h.path())
				if w != nil && set != "" && p.In(set, w.Blocks...) == nil {
					r.error(h.ref, "its path names the set %s, and no entry of %s is in it; the policy has %s", set,
						w.Blocks[0], setsOf(p))
				}
			}
			for _, set := range p.Sets() {
				for block := range p.Counts().All() {
					if paths := setPathsOf(block, set); inSet(p, block, set) > 0 && !c.calls(paths) {
						r.error(c.servers[0].ref, "its policy has entries in %s of the set %s, and no webhook calls %s", block, set,
							oneOf(paths))
					}
				}
			}
		},
	}
}

// setsOf names the sets of a policy in a sentence.
func setsOf(p *policy.Policy) string {
	if sets := p.Sets(); len(sets) > 0 {
		return "the sets " + some(sets)
	}
	return "no set"
}

// inSet returns how many entries of a block are in force and in a set.
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

// setPathsOf lists the paths on which the entries of a set in a block are judged.
func setPathsOf(block, set string) []string {
	var paths []string
	for _, w := range admission.Webhooks() {
		if path := w.SetPath(set); path != "" && slices.Contains(w.Blocks, block) {
			paths = append(paths, path)
		}
	}
	return paths
}
