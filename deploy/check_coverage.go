package deploy

import (
	"slices"
)

// coverage lists which namespaces are covered: selected by every webhook but the guard of the policy. It warns of one
// that has the opt-in label and is not covered. Protected namespaces are exempt.
func coverage() check {
	return check{
		id: "coverage", severity: Warning, live: true,
		finds: "which namespaces are covered and which are not; a warning for one that has opted in and is not " +
			"covered",
		why: "in a namespace that is not covered nothing is rewritten and nothing judged",
		fix: "label the namespace: kubectl label namespace NAME " + optInLabel + "=" + optInEnabled,
		run: func(c *cluster, r *reporter) {
			var covered, not []string
			for _, ns := range c.namespaces {
				switch protected := slices.Contains(c.protected(), ns.Name); {
				case !live(ns):
				case !protected && c.covered(ns.Name):
					covered = append(covered, ns.Name)
				case ns.Labels[optInLabel] == optInEnabled:
					r.warning(c.ref(ns), "it has opted in, and is not covered")
				case !protected:
					not = append(not, ns.Name)
				}
			}
			if len(covered)+len(not) > 0 {
				at := c.hooks[0].ref.in("namespaces")
				r.info(at, "%d covered: %s", len(covered), some(covered))
				r.info(at, "%d not covered: %s", len(not), some(not))
			}
		},
	}
}

func (c *cluster) covered(namespace string) bool {
	set := c.namespaceLabels(namespace)
	return !slices.ContainsFunc(c.hooks, func(h *hook) bool {
		return !h.guardsPolicy() && !selects(h.NamespaceSelector, set)
	})
}
