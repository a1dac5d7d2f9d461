package deploy

import (
	"slices"
	"strings"
)

// podSecurity: where the namespace enforces the Pod Security profile baseline or restricted, the Pods satisfy it. All
// that is refused is one finding, as it is one answer of the API server.
func podSecurity() check {
	return check{
		id: "pod-security", severity: Error, modelled: true,
		finds: "Pods that the Pod Security profile of their namespace refuses",
		why: "the API server refuses every Pod (violates PodSecurity): there is a Deployment, and no replica, which " +
			"only the events of its ReplicaSet show",
		fix: "set the fields as the kit has them; for the host's network, which takes the profile privileged, see " +
			"docs/runbooks/providers.md",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				profile := c.namespaceLabels(s.Namespace)[enforceLabel]
				if !slices.Contains([]string{baseline, restricted}, profile) {
					continue
				}
				if found := podViolations(profile, s.pod); len(found) > 0 {
					r.error(s.ref, "the namespace %s has the label %s: %s, which refuses its Pods, by spec.template.spec: %s",
						s.Namespace, enforceLabel, profile, strings.Join(found, "; "))
				}
			}
		},
	}
}
