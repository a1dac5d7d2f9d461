package deploy

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resourceQuota: each ResourceQuota that counts the Pods leaves room for all replicas and those that a roll-out adds,
// and for as many as an autoscaler may want; what it counts of CPU and memory, each container has. What other Pods of
// the namespace take is not counted.
func resourceQuota() check {
	return check{
		id: "resource-quota", severity: Error, needs: []premise{withinQuota()},
		finds: "a ResourceQuota below what the replicas and a roll-out need, or one that counts what containers do not " +
			"have; a warning where only an autoscaler's maxReplicas do not fit",
		why: "the API server refuses the Pods that exceed it (exceeded quota, must specify): replicas are missing, and a " +
			"roll-out, a new certificate or a security fix among them, stands still",
		fix: "raise the quota, or give the containers the resources that it counts",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				for _, q := range c.resourceQuotas {
					if s.countedBy(q) {
						c.checkQuota(q, s, r)
					}
				}
			}
		},
	}
}

func (c *cluster) checkQuota(q *corev1.ResourceQuota, s *server, r *reporter) {
	defaults := c.defaultsIn(s.Namespace)
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
		one := resource.MustParse("1") // of one Pod: a Pod
		if key != corev1.ResourcePods && key != "count/pods" {
			d, ok := demandOf(key)
			if !ok {
				continue
			}
			if names := d.lackedBy(s, defaults); len(names) > 0 {
				missing = append(missing, fmt.Sprintf("%s in %s", key, some(names)))
				continue
			}
			one = d.perPod(s.pod, defaults)
		}
		c.checkHard(q, key, s, one, r)
	}
	if len(missing) > 0 {
		r.error(c.ref(q), "every container has to set what it counts, and %s does not set: %s", s.ref, some(missing))
	}
}

// lackedBy lists the containers without what a quota wants every one to have.
func (d demand) lackedBy(s *server, defaults []corev1.LimitRangeItem) []string {
	if s.pod.Resources != nil {
		if _, ok := d.from(s.pod.Resources.Requests, s.pod.Resources.Limits); ok {
			return nil
		}
	}
	var names []string
	for _, c := range s.allContainers() {
		if _, ok := d.in(&c, defaults); !ok && d.mandatory() {
			names = append(names, "container "+c.Name)
		}
	}
	return names
}

// checkHard reports a limit below what the Pods need, of which each counts for one.
func (c *cluster) checkHard(
	q *corev1.ResourceQuota, key corev1.ResourceName, s *server, one resource.Quantity, r *reporter,
) {
	at, hard, replicas, most := c.ref(q), q.Spec.Hard[key], s.replicas(), s.maxReplicas()
	surge, surgeOfMost := s.surge(replicas), s.surge(most)
	switch least, full := times(one, replicas+surge), times(one, most+surgeOfMost); {
	case hard.Cmp(least) < 0:
		r.error(at, "it allows %s: %s, and %s needs %s, for %s", key, &hard, s.ref, &least,
			sumOf(one, key, replicas, surge, "replicas"))
	case hard.Cmp(full) < 0:
		r.warning(at, "it allows %s: %s, and %s needs %s, for %s", key, &hard, s.ref, &full,
			sumOf(one, key, most, surgeOfMost, "replicas, its autoscaler's maxReplicas,"))
	}
}

// times multiplies a quantity.
func times(q resource.Quantity, n int) resource.Quantity {
	q = q.DeepCopy()
	q.Mul(int64(n))
	return q
}

// sumOf says what a number is made of: 3 replicas and 1 more in a roll-out, each with 100m.
func sumOf(one resource.Quantity, key corev1.ResourceName, replicas, surge int, what string) string {
	text := fmt.Sprintf("%d %s and %d more in a roll-out", replicas, what, surge)
	if _, ok := demandOf(key); ok {
		text += ", each with " + one.String()
	}
	return text
}
