package deploy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// leastCPU is the lowest CPU limit, in thousandths of a core. Measured with 90 new connections at once, each with a
// review, since two replicas share the 175 of a third that goes (docs/runbooks/sizing.md): at 20m /readyz took 2.1 s of
// its probe's two; at 50m 0.75 s, and the slowest review 1.1 s of its three; without a limit 0.07 s.
const leastCPU = 50

// cpuLimit: the container has no CPU limit, or one of at least 50m.
func cpuLimit() check {
	return check{
		id: "cpu-limit", severity: Error,
		finds: "a CPU limit below 50m; an info for any other",
		why: "a throttled process answers late whatever it is asked: probes time out, so that replicas are restarted " +
			"when they are needed most, and every matched write waits",
		fix: "leave resources.limits.cpu out, and set resources.requests.cpu to what is needed",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				limit, ok := s.container.Resources.Limits[corev1.ResourceCPU]
				switch {
				case !ok:
				case limit.Cmp(*resource.NewMilliQuantity(leastCPU, resource.DecimalSI)) < 0:
					r.error(s.process, "its CPU limit is %s, and below %dm its probes time out in a burst", limit.String(), leastCPU)
				default:
					r.info(s.process, "its CPU limit is %s: while it is throttled, every matched write waits", limit.String())
				}
			}
		},
	}
}
