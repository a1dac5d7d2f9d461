package deploy

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// limitRange checks that the requests and limits of the containers meet the minimum, maximum and ratio of each
// LimitRange in the namespace. The API server adds the defaults of all LimitRanges first. A missing request or limit
// does not meet a minimum, maximum or ratio (kubernetes, plugin/pkg/admission/limitranger).
func limitRange() check {
	return check{
		id: "limit-range", severity: Error, modelled: true,
		finds: "containers that do not meet the min, max, default or maxLimitRequestRatio of a LimitRange",
		why: "the API server rejects every Pod (maximum memory usage per Container is, must be less than or " +
			"equal to). The Deployment exists but does not get any replicas, and only the events of its " +
			"ReplicaSet show the reason",
		fix: "change the LimitRange in Evergate's namespace, or the resources of the containers in your overlay",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			for _, l := range c.limitRanges {
				if l.Namespace != s.Namespace {
					continue
				}
				for _, item := range l.Spec.Limits {
					s.checkLimits(c.ref(l), item, c.defaultsIn(s.Namespace), r)
				}
			}
		}),
	}
}

// checkLimits reports requests and limits that do not meet an item of a LimitRange. An item for Pods bounds the
// resources of the whole Pod.
func (s *server) checkLimits(at ref, item corev1.LimitRangeItem, defaults []corev1.LimitRangeItem, r *reporter) {
	resources := map[corev1.ResourceName]bool{}
	for _, list := range []corev1.ResourceList{
		item.Min, item.Max, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio,
	} {
		for name := range list {
			resources[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		switch item.Type {
		case corev1.LimitTypeContainer:
			for _, c := range s.allContainers() {
				checkLimited(at, item, name, s.ref.String()+", container "+c.Name, limited(c.Resources, defaults, name), r)
			}
		case corev1.LimitTypePod:
			checkLimited(at, item, name, s.ref.String(), s.podLimits(defaults, name), r)
		}
	}
}

// podLimits returns the request and the limit of a Pod. They are the sums of its containers and sidecars, or the values
// of an init container and the sidecars before it if these are larger. Resources that are set for the whole Pod replace
// the sums.
func (s *server) podLimits(defaults []corev1.LimitRangeItem, name corev1.ResourceName) limits {
	var sum, sidecars, most limits
	for i := range s.pod.InitContainers {
		c := &s.pod.InitContainers[i]
		one := limited(c.Resources, defaults, name)
		if isSidecar(c) {
			sum.add(one)
			sidecars.add(one)
			continue // sum is at least as large
		}
		one.add(sidecars)
		most.raise(one)
	}
	for _, c := range s.pod.Containers {
		sum.add(limited(c.Resources, defaults, name))
	}
	sum.raise(most)
	if s.pod.Resources != nil {
		if q, ok := s.pod.Resources.Limits[name]; ok {
			sum.limit, sum.request = &q, cmp.Or(sum.request, &q)
		}
		if q, ok := s.pod.Resources.Requests[name]; ok {
			sum.request = &q
		}
	}
	return sum
}

// limits has the request and the limit for a resource. Each is nil if it is not set.
type limits struct{ request, limit *resource.Quantity }

// limited returns the request and the limit of a container after the API server has added defaults. A container that
// sets a limit but not a request requests its limit.
func limited(r corev1.ResourceRequirements, defaults []corev1.LimitRangeItem, name corev1.ResourceName) limits {
	requests, most := []corev1.ResourceList{r.Requests, r.Limits}, []corev1.ResourceList{r.Limits}
	for _, d := range defaults {
		requests = append(requests, d.DefaultRequest, d.Default, d.Max, d.Min)
		most = append(most, d.Default, d.Max)
	}
	first := func(lists []corev1.ResourceList) *resource.Quantity {
		for _, list := range lists {
			if q, ok := list[name]; ok {
				return &q
			}
		}
		return nil
	}
	return limits{request: first(requests), limit: first(most)}
}

// add adds the request and the limit of another container.
func (l *limits) add(other limits) {
	sum := func(a, b *resource.Quantity) *resource.Quantity {
		if a == nil || b == nil {
			return cmp.Or(a, b)
		}
		all := a.DeepCopy()
		all.Add(*b)
		return &all
	}
	l.request, l.limit = sum(l.request, other.request), sum(l.limit, other.limit)
}

// raise raises the request and the limit to the values of another container if these are larger.
func (l *limits) raise(other limits) {
	larger := func(a, b *resource.Quantity) *resource.Quantity {
		if a == nil || b != nil && b.Cmp(*a) > 0 {
			return b
		}
		return a
	}
	l.request, l.limit = larger(l.request, other.request), larger(l.limit, other.limit)
}

func checkLimited(at ref, item corev1.LimitRangeItem, name corev1.ResourceName, of string, has limits, r *reporter) {
	least, hasLeast := item.Min[name]
	most, hasMost := item.Max[name]
	ratio, hasRatio := item.MaxLimitRequestRatio[name]
	switch {
	case hasMost && has.limit == nil:
		r.error(at, "its max %s is %s, and %s has no limit", name, &most, of)
	case hasMost && has.limit.Cmp(most) > 0:
		r.error(at, "its max %s is %s, below the limit of %s of %s", name, &most, has.limit, of)
	}
	switch {
	case hasLeast && has.request == nil:
		r.error(at, "its min %s is %s, and %s has no request", name, &least, of)
	case hasLeast && has.request.Cmp(least) < 0:
		r.error(at, "its min %s is %s, above the request of %s of %s", name, &least, has.request, of)
	}
	switch {
	case has.request == nil || has.limit == nil || has.request.IsZero():
		if hasRatio {
			r.error(at, "its maxLimitRequestRatio of %s is %s, and %s does not have both a request and a limit", name, &ratio,
				of)
		}
	case has.request.Cmp(*has.limit) > 0:
		own := limited(corev1.ResourceRequirements{}, []corev1.LimitRangeItem{item}, name).limit
		if item.Type == corev1.LimitTypeContainer && own != nil && own.Cmp(*has.limit) == 0 {
			r.error(at, "its default makes %s %s the limit of %s, below the request of %s", has.limit, name, of, has.request)
		}
	case hasRatio && has.limit.AsApproximateFloat64()/has.request.AsApproximateFloat64() > ratio.AsApproximateFloat64():
		r.error(at, "its maxLimitRequestRatio of %s is %s, and %s has the limit %s and the request %s", name, &ratio, of,
			has.limit, has.request)
	}
}
