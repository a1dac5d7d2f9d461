package policy

import (
	"fmt"
	"reflect"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/images"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
)

// checkDisjoint warns about two entries in mode enforce that apply to the same objects, because their match and exclude
// are equal, but have no common elements in their lists of allowed values. Both entries must pass, so no object passes.
// An empty list is not compared, because it obviously does not allow anything. Lists of addresses, ports and class name
// patterns are not compared.
func (w *entryWarnings) checkDisjoint(b *blocks) {
	same := func(a, b string) bool { return a == b }
	checkDisjoint(w, b.Pods, "images.allowed", func(e *images.PodsEntry) []match.ImagePattern {
		if e.Images.From != nil {
			return nil // mirrors pass too
		}
		return e.Images.Allowed
	}, imagesMeet)
	checkDisjoint(w, b.Ingresses, "hosts.allowed", func(e *ingressesEntry) []match.HostPattern {
		return widest(e.Hosts)
	}, hostsMeet)
	checkDisjoint(w, b.Routes, "hosts.allowed", func(e *routesEntry) []match.HostPattern {
		if e.Hosts == nil || e.Kinds != nil {
			return nil // lists of kinds are not compared
		}
		return widest(&e.Hosts.FieldHostRules)
	}, hostsMeet)
	checkDisjoint(w, b.Gateways, "hosts.allowed", func(e *gatewaysEntry) []match.HostPattern {
		return widest(e.Hosts)
	}, hostsMeet)
	checkDisjoint(w, b.Services, "types.allowed", func(e *servicesEntry) []string {
		if e.Types == nil {
			return nil
		}
		return text.Plain(e.Types.Allowed)
	}, same)
	checkDisjoint(w, b.Services, "loadBalancerClass.allowed", func(e *servicesEntry) []string {
		if e.LoadBalancerClass == nil {
			return nil
		}
		return text.Plain(e.LoadBalancerClass.Allowed)
	}, same)
}

// checkDisjoint compares the list of each entry with the list of the first earlier entry that applies to the same
// objects.
func checkDisjoint[E, T any, P interface {
	*E
	Head() *rule.Header
}](w *entryWarnings, entries []E, field string, list func(P) []T, meet func(a, b T) bool) {
	type first struct {
		*rule.Header
		allowed []T
	}
	firsts := map[string]first{}
	for i := range entries {
		e := P(&entries[i])
		h, allowed := e.Head(), list(e)
		if h.Mode != Enforce || len(allowed) == 0 {
			continue
		}
		key := fmt.Sprint(h.Match == nil, h.Exclude == nil)
		if h.Match != nil {
			key += fmt.Sprint(h.Match.Namespaces)
		}
		before, ok := firsts[key]
		switch {
		case !ok:
			firsts[key] = first{h, allowed}
		case reflect.DeepEqual(h.Match, before.Match) && reflect.DeepEqual(h.Exclude, before.Exclude) &&
			disjoint(w, before.allowed, allowed, meet):
			w.warn(h, "%s has nothing in common with the list of %s (%s), which applies to the same objects: "+
				"all rules must pass, so no value can; write one rule with both lists", field, before.Name, before.Pos)
		}
	}
}

// disjoint reports whether certainly no element of a meets an element of b.
func disjoint[T any](w *entryWarnings, a, b []T, meet func(x, y T) bool) bool {
	for _, x := range a {
		for _, y := range b {
			if w.remaining--; w.remaining < 0 || meet(x, y) {
				return false
			}
		}
	}
	return true
}

// imagesMeet reports whether an image can be at both places.
func imagesMeet(a, b match.ImagePattern) bool {
	return match.NewImageSet([]match.ImagePattern{a}).Covers(b) || match.NewImageSet([]match.ImagePattern{b}).Covers(a)
}

// hostsMeet reports whether a host can match both patterns. It always returns true if b is **.
func hostsMeet(a, b match.HostPattern) bool {
	_, how := match.NewHostOverlaps([]match.HostPattern{a}).Find(b)
	return how != match.NoOverlap
}

// widest returns patterns that cover the hosts that the allowed templates cover for all namespaces together.
func widest(h *claim.FieldHostRules) (patterns []match.HostPattern) {
	if h != nil {
		for _, t := range h.Allowed {
			patterns = append(patterns, t.Widest())
		}
	}
	return patterns
}
