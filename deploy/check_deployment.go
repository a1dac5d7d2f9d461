package deploy

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// deploymentMissing checks that a Deployment in the namespace of the Service that webhooks call runs evergate serve
// and selects its own Pods.
func deploymentMissing() check {
	return check{
		id: "deployment", severity: Error, needs: []premise{wired()},
		finds: "webhooks whose Service is in a namespace without a Deployment that runs evergate serve, or a Deployment " +
			"that does not select its own Pods",
		why: "if no Pod answers a webhook, the API server rejects or delays every matching request",
		fix: "apply the Deployment before the webhook configurations, and delete it after them. If an overlay " +
			"sets namespace:, list kustomize/wiring under transformers:, which copies the namespace to every " +
			"place that uses it",
		run: func(c *cluster, r *reporter) {
			switch {
			case c.unread("deployments"):
			case len(c.servers) == 0 && len(c.elsewhere) > 0:
				r.error(c.hooks[0].ref, "it calls the namespace %s, and evergate serve runs elsewhere: %s", c.namespace,
					refsOf(c.elsewhere))
			case len(c.servers) == 0 && c.namespace != "" && !c.native: // otherwise webhooks call a URL: see the check path
				r.error(c.hooks[0].ref, "no Deployment runs evergate serve in the namespace %s", c.namespace)
			}
			for _, s := range c.servers {
				if !s.selectsOwn() {
					r.error(s.ref, "the labels of its Pod template, %s, do not match its spec.selector: the API server rejects "+
						"it", labels.Set(s.templateLabels()))
				}
			}
		},
	}
}

// selectsOwn reports whether a Deployment selects its own Pods.
func (s *server) selectsOwn() bool { return s.counted(s.Spec.Selector) }

// refsOf lists objects.
func refsOf(refs []ref) string {
	var names []string
	for _, r := range refs {
		names = append(names, r.String())
	}
	slices.Sort(names)
	return some(names)
}
