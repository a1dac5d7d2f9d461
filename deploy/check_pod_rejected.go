package deploy

import (
	"slices"

	"github.com/evergate/evergate/internal/text"
)

// maxRejection is how many bytes are shown of the reason for which the API server rejects a Pod.
const maxRejection = 1024

// podRejected: the API server would create the Deployment's Pods. kubectl evergate preflight asks it by a dry run.
func podRejected() check {
	return check{
		id: "pod-rejected", severity: Error, live: true,
		finds: "a Pod of Evergate that the API server rejects in a dry run by kubectl evergate preflight; a warning if the " +
			"dry run was not made as the account of the ReplicaSet controller",
		why: "the Deployment exists and does not get any replica, or loses its replicas one by one when nodes are drained, " +
			"and only the events of its ReplicaSet show the reason",
		fix: "change what the API server's sentence names: the Pod Security label of the namespace, a quota, a LimitRange, " +
			"SecurityContextConstraints, a policy or webhook of another product, or the field of the Pod in your overlay",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				i := slices.IndexFunc(c.dryRuns, func(d DryRun) bool { return d.Deployment == s.Name && d.Rejected != "" })
				if i < 0 {
					continue
				}
				report := r.error
				if !c.dryRuns[i].AsController {
					report = r.warning
				}
				report(s.ref, "the API server rejects its Pods in a dry run: %s",
					text.Truncate(c.dryRuns[i].Rejected, maxRejection))
			}
		},
	}
}
