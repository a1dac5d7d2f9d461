package deploy

import "slices"

// coverage lists the covered namespaces. A namespace is covered if every Evergate webhook except the policy guard
// selects it or, without webhooks, every binding of a native policy. The check warns of a namespace that has the opt-in
// label and is not covered. It does not list a protected namespace that is not covered.
func coverage() check {
	return check{
		id: "coverage", severity: Warning, live: true,
		finds: "the namespaces that the webhooks or native policies cover and the namespaces that they do not cover, with " +
			"the severity `info`. A namespace that has opted in and is not covered is a warning",
		why: "in a namespace that is not covered, Evergate does not rewrite or check any object",
		fix: "label the namespace with kubectl label namespace NAME " + optInLabel + "=" + optInEnabled,
		run: func(c *cluster, r *reporter) {
			var covered, not []string
			for _, ns := range c.namespaces {
				switch {
				case !live(ns):
				case c.covered(ns.Name):
					covered = append(covered, ns.Name)
				case ns.Labels[optInLabel] == optInEnabled:
					r.warning(c.ref(ns), "it has opted in, and is not covered")
				case !slices.Contains(c.protected(), ns.Name):
					not = append(not, ns.Name)
				}
			}
			if len(covered)+len(not) > 0 {
				at := c.anchor().in("namespaces")
				r.info(at, "%d covered: %s", len(covered), some(covered))
				r.info(at, "%d not covered: %s", len(not), some(not))
			}
		},
	}
}

func (c *cluster) covered(namespace string) bool {
	set, scopes := c.namespaceLabels(namespace), c.scopes()
	if c.native && len(scopes) == 0 {
		return false // see the check backstop-policy
	}
	return !slices.ContainsFunc(scopes, func(s namespaceScope) bool { return !selects(s.selector, set) })
}
