package unique

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
)

// conflict reports whether two claims of one value are duplicates. docs/policy/unique.md has the rules with their
// sources.
func (x *Index) conflict(a, b *record) bool {
	e, p, q := x.entries[a.entry], &x.objects[a.object], &x.objects[b.object]
	s, t, together := p.traits, q.traits, p.namespace == q.namespace
	switch {
	case a.object == b.object, p.key(q), s.solver, t.solver,
		e.scope() == inNamespace && !together,
		e.ShareWithin == withinNamespace && together,
		e.ShareWithin == withinOwner && x.owners.Share(hostOf(a.value), p.namespace, q.namespace),
		(a.record || b.record) && s.setIdentifier != t.setIdentifier && s.setIdentifier != "" && t.setIdentifier != "":
		return false
	case e.What == serviceSelectors, e.What == annotation:
		return true
	case s.group != t.group:
		return !together
	}
	switch s.group {
	case ingresses:
		return s.conflictIngress(t, together, e.What == hostPaths)
	case gateways:
		return s.sharesListener(t)
	case routes:
		return s.sharesListener(t) && s.conflictRoute(t)
	case openShiftRoutes:
		return s.path == t.path || !together && e.NamespaceOwnership != interNamespaceAllowed
	}
	return true
}

// key reports whether two objects are the same object, for example in two API versions.
func (p *entity) key(q *entity) bool {
	return p.namespace == q.namespace && p.name == q.name && p.traits.kind == q.traits.kind
}

// hostOf returns the host of a value of hosts or hostPaths.
func hostOf(value string) match.HostPattern {
	if end := strings.IndexAny(value, "/:"); end >= 0 {
		value = value[:end]
	}
	return match.ParseHost(value)
}

// conflictIngress reports whether two Ingresses with the same host are duplicates.
func (t *traits) conflictIngress(u *traits, together, paths bool) bool {
	switch {
	case t.class != u.class,
		together && (t.canary || u.canary),
		t.albGroup != "" && t.albGroup == u.albGroup:
		return false
	case t.mergeable != "" && u.mergeable != "": // minions share the host of their master, each with its own paths
		return paths || t.mergeable == "master" && u.mergeable == "master"
	}
	return true
}

// sharesListener reports whether two routes are attached to the same listener, or whether two objects have listeners of
// one Gateway.
func (t *traits) sharesListener(u *traits) bool {
	return slices.ContainsFunc(t.parents, func(p parent) bool {
		return slices.ContainsFunc(u.parents, func(q parent) bool {
			return p.Reference == q.Reference && (p.section == q.section || p.section == "" || q.section == "") &&
				(p.port == q.port || p.port == 0 || q.port == 0)
		})
	})
}

// conflictRoute reports whether two routes on one listener are duplicates. An HTTPRoute and a GRPCRoute cannot share a
// host. Other routes of different kinds need different listeners.
func (t *traits) conflictRoute(u *traits) bool {
	if t.kind != u.kind {
		return t.kind != "TLSRoute" && u.kind != "TLSRoute"
	}
	return len(t.matches) == 0 || slices.ContainsFunc(t.matches, func(m string) bool {
		_, found := slices.BinarySearch(u.matches, m)
		return found
	})
}
