package deploy

import "slices"

// duplicateDeployment checks that only one Deployment runs evergate serve. Several Deployments may be intended, for
// example one in each zone, so they are a warning. The same name twice in manifests is an error, because the
// Deployment that is applied last replaces the other.
func duplicateDeployment() check {
	return check{
		id: "duplicate-deployment", severity: Error,
		finds: "two Deployments with the same name in the manifests. Two Deployments with different names that run " +
			"evergate serve are only a warning",
		why: "a forgotten Deployment answers with another version or another policy whenever the Service selects its " +
			"Pods, and uses up disruption budgets and quotas",
		fix: "remove the Deployment in the finding, or accept the finding if both are intended",
		run: func(c *cluster, r *reporter) {
			for _, d := range c.replaced {
				r.error(d.by, "it replaces the Deployment with the same name at %s: remove that Deployment", d.ref.source)
			}
			if len(c.servers) < 2 {
				return
			}
			keep := c.kept()
			for _, s := range c.servers {
				if s != keep {
					r.warning(s.ref, "it runs evergate serve, and so does %s: remove %s%s", keep.ref, s.ref, c.whyKept(s, keep))
				}
			}
		},
	}
}

// kept returns the Deployment to keep. It prefers Deployments whose Pods are selected by a Service that webhooks
// call, among these the Deployment with the name of the Service, and otherwise the first.
func (c *cluster) kept() *server {
	var called []*server
	for _, h := range c.hooks {
		if svc := c.service(h); svc != nil {
			called = append(called, c.behindService(svc)...)
			if i := slices.IndexFunc(called, func(s *server) bool { return s.Name == svc.Name }); i >= 0 {
				return called[i]
			}
		}
	}
	return append(called, c.servers...)[0]
}

// whyKept returns the reason to keep the other Deployment, as the end of a sentence.
func (c *cluster) whyKept(s, keep *server) string {
	for _, h := range c.hooks {
		if svc := c.service(h); svc != nil {
			if behind := c.behindService(svc); slices.Contains(behind, keep) && !slices.Contains(behind, s) {
				return ", whose Pods " + c.ref(svc).String() + " does not select"
			}
		}
	}
	return ""
}

// replacement is an object that another object with the same name replaces.
type replacement struct{ ref, by ref }

// lastOfEach returns the servers that no later server with the same name replaces, and the replacements.
func lastOfEach(inv *Inventory, servers []*server) (last []*server, replaced []replacement) {
	for i, s := range servers {
		j := slices.IndexFunc(servers[i+1:], func(other *server) bool { return other.Name == s.Name })
		if j < 0 {
			last = append(last, s)
		} else if !live(s.Deployment) && !live(servers[i+1+j].Deployment) {
			replaced = append(replaced, replacement{inv.ref(s.Deployment), servers[i+1+j].ref})
		}
	}
	return last, replaced
}
