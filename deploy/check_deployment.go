package deploy

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// deploymentMissing: in the namespace of the Service that webhooks call, a Deployment runs evergate serve, and selects
// its own Pods.
func deploymentMissing() check {
	return check{
		id: "deployment", severity: Error,
		finds: "webhooks without a Deployment that runs evergate serve, or with one in another namespace; a Deployment " +
			"that does not select its own Pods",
		why: "webhooks that no Pod answers refuse or delay all that they match",
		fix: "apply the Deployment before the webhook configurations, and delete it after them; an overlay that sets " +
			"namespace: lists kustomize/wiring under transformers:, which carries it to where it is used",
		run: func(c *cluster, r *reporter) {
			switch {
			case len(c.servers) == 0 && len(c.elsewhere) > 0:
				r.error(c.hooks[0].ref, "it calls the namespace %s, and evergate serve runs elsewhere: %s", c.namespace,
					refsOf(c.elsewhere))
			case len(c.servers) == 0 && c.namespace != "": // else webhooks call a URL, which may lead to anywhere: path
				r.error(c.hooks[0].ref, "no Deployment runs evergate serve in the namespace %s", c.namespace)
			}
			for _, s := range c.servers {
				if !s.selectsOwn() {
					r.error(s.ref, "the labels of its Pod template, %s, are not what its spec.selector selects: the API server "+
						"refuses it", labels.Set(s.templateLabels()))
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
