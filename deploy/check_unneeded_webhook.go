package deploy

import (
	"slices"

	"github.com/evergate/evergate/admission"
)

// unneededWebhook lists the groups of webhooks that no entry of the policy needs. It runs if the input has the policy,
// and only reports groups with all their webhooks.
func unneededWebhook() check {
	return check{
		id: "unneeded-webhook", severity: Info, needs: []premise{together()},
		finds: "groups of webhooks that no entry of the policy needs",
		why: "the API server calls Evergate for objects that the policy has no rules for. While no replica answers, " +
			"these calls delay writes, or reject them if failurePolicy is Fail",
		fix: "switch the group off with the component in the finding, or with the values webhooks of the Helm chart",
		run: func(c *cluster, r *reporter) {
			p, ok := c.policy()
			if !ok || len(c.servers) == 0 {
				return
			}
			needed := map[string]bool{}
			for block, n := range p.Counts().All() {
				needed[block] = n > 0
			}
			for _, g := range webhookGroups() {
				var hooks []*hook
				for _, path := range g.paths {
					of := c.hooksOf(path)
					if len(of) == 0 || slices.ContainsFunc(blocksOf(path), func(block string) bool { return needed[block] }) {
						hooks = nil
						break
					}
					hooks = append(hooks, of...)
				}
				for _, h := range hooks {
					r.info(h.ref, "the policy has no entries for %s: %s", g.name, g.off)
				}
			}
		},
	}
}

// hooksOf returns the webhooks that call a path.
func (c *cluster) hooksOf(path string) []*hook {
	return filter(c.hooks, func(h *hook) bool { return h.path() == path })
}

// blocksOf lists the blocks of the policy that a path evaluates.
func blocksOf(path string) []string {
	for _, w := range admission.Webhooks() {
		if w.Path == path {
			return w.Blocks
		}
	}
	return nil
}
