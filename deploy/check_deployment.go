package deploy

// deploymentMissing: in the namespace of the Service that webhooks call, a Deployment runs evergate serve.
func deploymentMissing() check {
	return check{
		id: "deployment", severity: Error,
		finds: "webhooks without a Deployment that runs evergate serve",
		why:   "webhooks that no Pod answers refuse or delay all that they match",
		fix:   "apply the Deployment before the webhook configurations, and delete it after them",
		run: func(c *cluster, r *reporter) {
			if len(c.servers) == 0 {
				r.error(c.hooks[0].ref, "no Deployment runs evergate serve in the namespace %s", c.namespace)
			}
		},
	}
}
