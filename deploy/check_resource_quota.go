package deploy

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resourceQuota checks that each ResourceQuota that counts the Pods has room for all replicas, for the Pods that a
// rollout adds and for the maximum of an autoscaler. Each container has to set the CPU and memory that a quota
// counts. The check does not count the other Pods in the namespace. A quota on objects has to have room for the
// Deployments, Services and ConfigMaps of the input, and for the ReplicaSets of a rollout.
func resourceQuota() check {
	return check{
		id: "resource-quota", severity: Error, needs: []premise{withinQuota()},
		finds: "a ResourceQuota that is too small for the replicas, a rollout or other objects of Evergate, or " +
			"that counts resources that the containers do not set. A quota that is too small only for the maxReplicas of " +
			"an autoscaler is a warning",
		why: "the API server rejects the Pods that exceed the quota (exceeded quota, must specify). Replicas are " +
			"missing, and a rollout stops, including the rollout of a new certificate or a security fix",
		fix: "raise the quota, or set requests and limits on the containers for the resources that the quota counts",
		run: func(c *cluster, r *reporter) {
			for _, q := range c.resourceQuotas {
				for _, s := range c.servers {
					if s.countedBy(q) {
						c.checkQuota(q, s, r)
					}
				}
				if q.Namespace == c.namespace && len(quotaScopes(q)) == 0 { // scopes select Pods
					c.checkObjects(q, r)
				}
			}
		},
	}
}

// checkObjects reports a quota that is too small for Evergate's objects other than Pods.
func (c *cluster) checkObjects(q *corev1.ResourceQuota, r *reporter) {
	revisions := 0
	for _, s := range c.servers {
		history := 10 // the default in the API
		if s.Spec.RevisionHistoryLimit != nil {
			history = int(*s.Spec.RevisionHistoryLimit)
		}
		revisions += history + 2
	}
	configMaps := countIn(c.configMaps, c.namespace)
	if find(c.configMaps, c.namespace, rootCA) == nil {
		configMaps++
	}
	for _, kind := range []struct {
		keys  []corev1.ResourceName
		need  int
		found string
	}{
		{[]corev1.ResourceName{"count/deployments.apps"}, countIn(c.deployments, c.namespace), "the input has %d"},
		{[]corev1.ResourceName{"count/replicasets.apps"}, revisions,
			"Evergate needs %d, for old revisions (revisionHistoryLimit), the current one and a rollout"},
		{[]corev1.ResourceName{corev1.ResourceServices, "count/services"}, countIn(c.services, c.namespace),
			"the input has %d"},
		{[]corev1.ResourceName{corev1.ResourceConfigMaps, "count/configmaps"}, configMaps,
			"the namespace needs %d, including " + rootCA},
	} {
		for _, key := range kind.keys {
			if hard, ok := q.Spec.Hard[key]; ok && hard.CmpInt64(int64(kind.need)) < 0 {
				r.error(c.ref(q), "it allows %s: %s, and "+kind.found, key, &hard, kind.need)
			}
		}
	}
}

// rootCA is a ConfigMap that Kubernetes creates in each namespace.
const rootCA = "kube-root-ca.crt"

// countIn counts the objects of a list in a namespace.
func countIn[P apiObject](list []P, namespace string) int {
	return len(filter(list, func(o P) bool { return o.GetNamespace() == namespace }))
}

func (c *cluster) checkQuota(q *corev1.ResourceQuota, s *server, r *reporter) {
	defaults := c.defaultsIn(s.Namespace)
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
		one := resource.MustParse("1") // the demand of one Pod: pods and count/pods count it as 1
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
		r.error(c.ref(q), "every container has to set the resources that it counts, and %s does not set: "+
			"%s", s.ref, some(missing))
	}
}

// lackedBy lists the containers that do not set a resource that a quota requires of every container.
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

// checkHard reports a limit below the total of the Pods. one is the demand of one Pod.
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

// sumOf describes the parts of a total: 3 replicas and 1 more in a rollout, each with 100m.
func sumOf(one resource.Quantity, key corev1.ResourceName, replicas, surge int, what string) string {
	text := fmt.Sprintf("%d %s and %d more in a rollout", replicas, what, surge)
	if _, ok := demandOf(key); ok {
		text += ", each with " + one.String()
	}
	return text
}
