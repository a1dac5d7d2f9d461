package deploy

import (
	"strconv"
	"strings"
)

// The annotations with which OpenShift assigns users and groups to a namespace. In 1000670000/10000, the first number
// is the first ID and the second is the number of IDs.
const (
	uidRange   = "openshift.io/sa.scc.uid-range"
	groupRange = "openshift.io/sa.scc.supplemental-groups"
)

// uidRangeCheck checks that, on OpenShift, the user and the fsGroup of the Pods are in the ranges of their namespace.
func uidRangeCheck() check {
	return check{
		id: "uid-range", severity: Error, modelled: true,
		finds: "a user or a group outside the range that OpenShift assigns to the namespace",
		why: "the SecurityContextConstraints restricted-v2 reject every Pod (unable to validate against any " +
			"security context constraint). The Deployment exists but does not get any replicas",
		fix: "add the component openshift, which removes runAsUser, runAsGroup and fsGroup, so OpenShift sets them",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			ns := find(c.namespaces, "", s.Namespace)
			if ns == nil {
				return
			}
			report := func(at ref, field string, id *int64, annotation string) {
				if first, last, ok := idRange(ns.Annotations[annotation]); ok && id != nil && (*id < first || *id > last) {
					r.error(at, "its %s is %d, and %s has the range %d to %d (%s)", field, *id, c.ref(ns), first, last, annotation)
				}
			}
			groups := groupRange
			if ns.Annotations[groups] == "" {
				groups = uidRange
			}
			if pod := s.pod.SecurityContext; pod != nil {
				report(s.ref, "runAsUser", pod.RunAsUser, uidRange)
				report(s.ref, "fsGroup", pod.FSGroup, groups)
			}
			for _, container := range s.allContainers() {
				if own := container.SecurityContext; own != nil {
					report(s.ref.in("container %s", container.Name), "runAsUser", own.RunAsUser, uidRange)
				}
			}
		}),
	}
}

// idRange returns the first and the last number of a range: 1000670000/10000 or 1000670000-1000679999. If a value has
// several ranges, separated by commas, the first one counts.
func idRange(s string) (first, last int64, ok bool) {
	s, _, _ = strings.Cut(s, ",")
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		ok = ok && err == nil
		return n
	}
	ok = true
	if a, b, counted := strings.Cut(s, "/"); counted {
		first = number(a)
		return first, first + number(b) - 1, ok
	}
	a, b, ranged := strings.Cut(s, "-")
	first, last = number(a), number(b)
	return first, last, ok && ranged
}
