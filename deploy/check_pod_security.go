package deploy

import (
	"slices"
	"strings"
)

// podSecurity checks that the Pods satisfy the Pod Security profile that their namespace enforces, baseline or
// restricted. All violations are one finding, because the API server reports them in one answer.
func podSecurity() check {
	return check{
		id: "pod-security", severity: Error, modelled: true,
		finds: "Pods that the Pod Security profile of their namespace does not allow",
		why: "the API server rejects every Pod (violates PodSecurity). The Deployment exists but does not get " +
			"any replicas, and only the events of its ReplicaSet show the reason",
		fix: "set the fields as kustomize/base does. For the host network, which requires the profile " +
			"privileged, see docs/runbooks/providers.md",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			profile := c.namespaceLabels(s.Namespace)[enforceLabel]
			if !slices.Contains([]string{baseline, restricted}, profile) {
				return
			}
			if found := podViolations(profile, s.pod); len(found) > 0 {
				r.error(s.ref, "the namespace %s has the label %s: %s, which does not allow its Pods because of "+
					"spec.template.spec: %s",
					s.Namespace, enforceLabel, profile, strings.Join(found, "; "))
			}
		}),
	}
}
