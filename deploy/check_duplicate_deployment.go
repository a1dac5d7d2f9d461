package deploy

import "slices"

// duplicateDeployment: one Deployment runs evergate serve. Several may be meant, such as one for each zone, so that
// they are a warning; the same name twice in manifests is an error, since the one that is applied last takes the place
// of the other.
func duplicateDeployment() check {
	return check{
		id: "duplicate-deployment", severity: Error,
		finds: "two Deployments with one name in the manifests; a warning for two that run evergate serve",
		why: "one is forgotten: it answers with another version, or another policy, as often as the Service chooses it, " +
			"and takes part in budgets and quotas",
		fix: "remove the one that the finding names, or accept it where two are meant",
		run: func(c *cluster, r *reporter) {
			for _, d := range c.replaced {
				r.error(d.by, "there is another of its name at %s, whose place it takes: remove that one", d.ref.source)
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

// kept returns the Deployment to keep: the one whose Pods a Service selects that webhooks call, of several the one of
// the Service's name, else the first.
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

// whyKept says why the other is to be kept, as the end of a sentence.
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

// replacement is an object that another of its name takes the place of.
type replacement struct{ ref, by ref }

// lastOfEach returns the servers without those whose place another of the same name takes, and these.
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
