package deploy

import (
	"slices"
)

// missingWebhook checks that an Evergate webhook calls a path that evaluates each block of the policy that has
// entries. If the input does not have the policy, it checks that one webhook rewrites and one validates. If there are
// only native policies, it checks that they enforce the whole policy. Any other input without a Deployment is only a
// part of an installation and is not checked.
func missingWebhook() check {
	return check{
		id: "missing-webhook", severity: Error, needs: []premise{together()},
		finds: "policy entries whose objects no webhook matches. If the policy is not known, a missing webhook " +
			"configuration is a warning. Entries that native policies do not completely enforce are a warning if there are no " +
			"webhooks",
		why: "the API server does not call Evergate for these objects. Evergate neither rewrites nor checks " +
			"them, whatever the policy contains",
		fix: "apply the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration evergate from " +
			"kustomize/base, without the components no-pods, no-ingresses, no-gateway-api and no-openshift-routes. For the " +
			"certificates and dnsEndpoints blocks, add the component host-kinds. If you use only native policies, " +
			"evergate export --coverage prints the reasons",
		run: func(c *cluster, r *reporter) {
			_, ok := c.policy()
			switch {
			case c.native && ok:
				if lost := c.notEnforced(); len(lost) > 0 {
					r.warning(c.anchor(), "there are no webhooks, and the native policies do not completely enforce these entries of "+
						"the policy: %s", some(lost))
				}
			case len(c.servers) == 0 || !c.knowsWebhooks():
			case !ok && !slices.ContainsFunc(c.hooks, func(h *hook) bool { return h.mutating }):
				// The component no-pods accepts it.
				r.warning(c.hooks[0].ref.in(""), "no MutatingWebhookConfiguration of Evergate exists: no image is rewritten")
			case !ok && !slices.ContainsFunc(c.hooks, func(h *hook) bool { return !h.mutating }):
				r.warning(c.servers[0].ref, "no ValidatingWebhookConfiguration of Evergate calls it: no object is checked")
			case ok:
				doc, _ := c.policyDocument() // c.policy has loaded it
				for _, m := range MissingWebhooks(doc, c.calls) {
					r.error(c.servers[0].ref, "its policy has entries in %s, and no webhook calls %s", m.Block, oneOf(m.Paths))
				}
			}
		},
	}
}

// notEnforced lists the policy entries that are not exported, or only in part.
func (c *cluster) notEnforced() []string {
	b := backstopCheck{cluster: c, policies: c.backstop()}
	e, _ := b.exported()
	return e.lost
}

// calls reports whether a webhook calls a path.
func (c *cluster) calls(path string) bool {
	return slices.ContainsFunc(c.hooks, func(h *hook) bool { return h.path() == path })
}
