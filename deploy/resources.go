package deploy

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// quotaScopes returns the scopes of a ResourceQuota, from both fields that can set them.
func quotaScopes(q *corev1.ResourceQuota) []corev1.ScopedResourceSelectorRequirement {
	var scopes []corev1.ScopedResourceSelectorRequirement
	for _, name := range q.Spec.Scopes {
		scopes = append(scopes, corev1.ScopedResourceSelectorRequirement{
			ScopeName: name, Operator: corev1.ScopeSelectorOpExists,
		})
	}
	if q.Spec.ScopeSelector != nil {
		scopes = append(scopes, q.Spec.ScopeSelector.MatchExpressions...)
	}
	return scopes
}

// countedBy reports whether a ResourceQuota counts the Pods of a server. All its scopes have to match them.
func (s *server) countedBy(q *corev1.ResourceQuota) bool {
	return q.Namespace == s.Namespace && !slices.ContainsFunc(quotaScopes(q),
		func(scope corev1.ScopedResourceSelectorRequirement) bool { return !s.inScope(scope) })
}

// inScope reports whether the Pods of a server are in a scope. Pods of a Deployment do not have a deadline. They are
// not in a scope that this function does not know.
func (s *server) inScope(scope corev1.ScopedResourceSelectorRequirement) bool {
	class := s.pod.PriorityClassName
	switch scope.ScopeName {
	case corev1.ResourceQuotaScopeNotTerminating:
		return true
	case corev1.ResourceQuotaScopeBestEffort:
		return s.bestEffort()
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !s.bestEffort()
	case corev1.ResourceQuotaScopePriorityClass:
		switch scope.Operator {
		case corev1.ScopeSelectorOpIn:
			return slices.Contains(scope.Values, class)
		case corev1.ScopeSelectorOpNotIn:
			return !slices.Contains(scope.Values, class)
		case corev1.ScopeSelectorOpExists:
			return class != ""
		case corev1.ScopeSelectorOpDoesNotExist:
			return class == ""
		}
	}
	return false
}

// bestEffort reports whether no container has a request or a limit of CPU or memory.
func (s *server) bestEffort() bool {
	return !slices.ContainsFunc(s.allContainers(), func(c corev1.Container) bool {
		return len(c.Resources.Requests)+len(c.Resources.Limits) > 0
	})
}

// allContainers lists the containers of the Pod template, init containers first.
func (s *server) allContainers() []corev1.Container {
	return slices.Concat(s.pod.InitContainers, s.pod.Containers)
}

// demand is the resource of a Pod that one quantity of a ResourceQuota counts.
type demand struct {
	limits   bool                // true for limits, false for requests
	resource corev1.ResourceName // cpu, memory or ephemeral-storage
}

// demandOf returns the resource that a key of spec.hard counts. ok is false if it is not a compute resource.
func demandOf(key corev1.ResourceName) (d demand, ok bool) {
	name, limits := strings.CutPrefix(string(key), "limits.")
	name = strings.TrimPrefix(name, "requests.")
	d = demand{limits, corev1.ResourceName(name)}
	return d, slices.Contains([]corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
	}, d.resource)
}

// mandatory reports whether a quota requires every container to set the resource, which is true of CPU and memory.
func (d demand) mandatory() bool { return d.resource != corev1.ResourceEphemeralStorage }

// in returns the amount of a container, which it sets or gets by default. ok is false if it has neither.
func (d demand) in(c *corev1.Container, defaults []corev1.LimitRangeItem) (q resource.Quantity, ok bool) {
	if q, ok = d.from(c.Resources.Requests, c.Resources.Limits); ok {
		return q, true
	}
	for _, item := range defaults {
		if q, ok = d.from(item.DefaultRequest, item.Default); ok {
			return q, true
		}
	}
	return resource.Quantity{}, false
}

// from returns a limit or a request. A request defaults to the limit, as in the API server.
func (d demand) from(requests, limits corev1.ResourceList) (resource.Quantity, bool) {
	if q, ok := requests[d.resource]; ok && !d.limits {
		return q, true
	}
	q, ok := limits[d.resource]
	return q, ok
}

// defaultsIn returns the defaults that LimitRanges in a namespace set on containers.
func (c *cluster) defaultsIn(namespace string) []corev1.LimitRangeItem {
	var items []corev1.LimitRangeItem
	for _, l := range c.limitRanges {
		for _, item := range l.Spec.Limits {
			if l.Namespace == namespace && item.Type == corev1.LimitTypeContainer {
				items = append(items, item)
			}
		}
	}
	return items
}

// isSidecar reports whether an init container keeps running next to the containers.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// perPod returns the amount of one Pod and its overhead. It is the sum of its containers and sidecars, or the amount
// of an init container that needs more. Resources that are set for the whole Pod replace this amount.
func (d demand) perPod(pod *corev1.PodSpec, defaults []corev1.LimitRangeItem) resource.Quantity {
	if pod.Resources != nil {
		if q, ok := d.from(pod.Resources.Requests, pod.Resources.Limits); ok {
			return q
		}
	}
	var running, most resource.Quantity
	for i := range pod.InitContainers {
		q, _ := d.in(&pod.InitContainers[i], defaults)
		if isSidecar(&pod.InitContainers[i]) {
			running.Add(q)
			q = resource.Quantity{}
		}
		if q.Add(running); q.Cmp(most) > 0 {
			most = q
		}
	}
	for i := range pod.Containers {
		q, _ := d.in(&pod.Containers[i], defaults)
		running.Add(q)
	}
	if most.Cmp(running) > 0 {
		running = most
	}
	running.Add(pod.Overhead[d.resource])
	return running
}
