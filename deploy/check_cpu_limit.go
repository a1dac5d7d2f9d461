package deploy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// leastCPU is the lowest CPU limit, in thousandths of a core. It was measured with 90 new connections at the same
// time, each with a review, because two replicas take over the 175 connections of a third that stops
// (docs/runbooks/sizing.md). At 20m, /readyz took 2.1 s of the two seconds of its probe. At 50m, it took 0.75 s, and
// the slowest review took 1.1 s of its three seconds. Without a limit, /readyz took 0.07 s.
const leastCPU = 50

// cpuLimit checks that the container does not have a CPU limit below 50m.
func cpuLimit() check {
	return check{
		id: "cpu-limit", severity: Error,
		finds: "a CPU limit below 50m. Preflight reports any other CPU limit with the severity `info`",
		why: "a throttled process answers every request late. Probes time out, so the kubelet restarts replicas " +
			"when they are needed most, and every matched write waits",
		fix: "leave out resources.limits.cpu, and set resources.requests.cpu to the CPU that Evergate needs",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			limit, ok := s.container.Resources.Limits[corev1.ResourceCPU]
			switch {
			case !ok:
			case limit.Cmp(*resource.NewMilliQuantity(leastCPU, resource.DecimalSI)) < 0:
				r.error(s.process, "its CPU limit is %s, and below %dm its probes time out in a burst", limit.String(), leastCPU)
			default:
				r.info(s.process, "its CPU limit is %s: while it is throttled, every matched write waits", limit.String())
			}
		}),
	}
}
