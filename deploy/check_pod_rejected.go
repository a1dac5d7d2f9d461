package deploy

import (
	"slices"

	"github.com/evergate/evergate/internal/text"
)

// maxRejection is how many bytes of the API server's reason are shown.
const maxRejection = 1024

// podRejected checks that the API server would create the Deployment's Pods. kubectl evergate preflight finds
// that out with a dry run.
func podRejected() check {
	return check{
		id: "pod-rejected", severity: Error, live: true,
		finds: "an Evergate Pod that the API server rejects in the dry run of kubectl evergate preflight. Preflight " +
			"reports only a warning if the dry run did not use the account of the ReplicaSet controller",
		why: "the Deployment exists but does not get any replicas, or loses its replicas one by one during node " +
			"drains. Only the events of its ReplicaSet show the reason",
		fix: "correct the cause that the API server's message shows: the Pod Security label of the namespace, a " +
			"quota, a LimitRange, SecurityContextConstraints, a policy or webhook of another product, or the field " +
			"of the Pod in your overlay",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			i := slices.IndexFunc(c.dryRuns, func(d DryRun) bool { return d.Deployment == s.Name && d.Rejected != "" })
			if i < 0 {
				return
			}
			report := r.error
			if !c.dryRuns[i].AsController {
				report = r.warning
			}
			report(s.ref, "the API server rejects its Pods in a dry run: %s",
				text.Truncate(c.dryRuns[i].Rejected, maxRejection))
		}),
	}
}
