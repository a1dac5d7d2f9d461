package deploy

import (
	"slices"

	"github.com/evergate/evergate/admission"
)

// missingWebhook: for each block of the policy that has entries, a webhook of Evergate calls a path on which they are
// judged. Where the input does not have the policy, there is a webhook that rewrites and one that judges. An input
// without a Deployment is not all of an installation, and not looked at.
func missingWebhook() check {
	return check{
		id: "missing-webhook", severity: Error, needs: []premise{together()},
		finds: "entries of the policy that no webhook has judged; a warning where the policy is not known, and a webhook " +
			"configuration is missing",
		why: "nothing calls Evergate for these objects: they are neither rewritten nor judged, whatever the policy says",
		fix: "apply the webhook configurations of the kit, MutatingWebhookConfiguration and " +
			"ValidatingWebhookConfiguration evergate; for certificates and dnsEndpoints with its component host-kinds",
		run: func(c *cluster, r *reporter) {
			p, ok := c.policy()
			switch {
			case len(c.servers) == 0:
			case !ok && !slices.ContainsFunc(c.hooks, func(h *hook) bool { return h.mutating }):
				r.warning(c.servers[0].ref, "no MutatingWebhookConfiguration of Evergate calls it: no image is rewritten")
			case !ok && !slices.ContainsFunc(c.hooks, func(h *hook) bool { return !h.mutating }):
				r.warning(c.servers[0].ref, "no ValidatingWebhookConfiguration of Evergate calls it: nothing is judged")
			case ok:
				for block, n := range p.Counts().All() {
					for _, set := range p.Sets() { // see setWebhook
						n -= inSet(p, block, set)
					}
					if paths := pathsOf(block); n > 0 && !c.calls(paths) {
						r.error(c.servers[0].ref, "its policy has entries in %s, and no webhook calls %s", block,
							oneOf(paths))
					}
				}
			}
		},
	}
}

// pathsOf lists the paths on which a block of the policy is judged, or rewritten by.
func pathsOf(block string) []string {
	var paths []string
	for _, w := range admission.Webhooks() {
		if slices.Contains(w.Blocks, block) {
			paths = append(paths, w.Path)
		}
	}
	return paths
}

// calls reports whether a webhook calls one of the paths.
func (c *cluster) calls(paths []string) bool {
	return slices.ContainsFunc(c.hooks, func(h *hook) bool { return slices.Contains(paths, h.path()) })
}
