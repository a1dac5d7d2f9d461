package match

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// names returns every name of one to depth labels out of words.
func names(depth int, words ...string) []string {
	var all []string
	for level := []string{""}; depth > 0; depth-- {
		var next []string
		for _, parent := range level {
			for _, w := range words {
				next = append(next, strings.TrimSuffix(w+"."+parent, "."))
			}
		}
		all, level = append(all, next...), next
	}
	return all
}

// patternsOf returns every pattern about names, and **.
func patternsOf(names []string) []HostPattern {
	all := []HostPattern{EveryHost()}
	for _, n := range names {
		all = append(all, HostPattern{n, HostItself}, HostPattern{n, OneLabelBelow}, HostPattern{n, LabelsBelow})
	}
	return all
}

// A claim passes allowed if each of its hosts is covered, and it passes denied if none of its hosts is covered. The
// test checks each claim with each pattern of a small world, and with lists of patterns. The claims have all depths:
// only the name, one label as in an Ingress, and any number of labels as in Gateway API. No pattern has the label c,
// because tenants always have names that are not in a policy.
func TestClaimsAgainstEachHost(t *testing.T) {
	hosts := names(4, "a", "b", "c")
	patterns, claims := patternsOf(names(2, "a", "b")), patternsOf(names(2, "a", "b", "c"))
	check := func(chosen []HostPattern, claim HostPattern) {
		t.Helper()
		allowed, denied := true, false
		for _, h := range hosts {
			if !covers(claim, h) {
				continue
			}
			in := slices.ContainsFunc(chosen, func(p HostPattern) bool { return covers(p, h) })
			allowed, denied = allowed && in, denied || in
		}
		if by, got := NewHostSet(chosen).Covers(claim); got != allowed {
			t.Fatalf("%v allows %s, by %s: %t, want %t", chosen, claim, by, got, allowed)
		}
		if by, how := NewHostOverlaps(chosen).Find(claim); (how != NoOverlap) != denied {
			t.Fatalf("%v denies %s, by %s: %t, want %t", chosen, claim, by, how != NoOverlap, denied)
		}
	}
	for _, claim := range claims {
		for _, p := range patterns {
			check([]HostPattern{p}, claim)
		}
	}
	rng := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // reproducible on purpose
	for range 20_000 {
		var chosen []HostPattern
		for range 2 + rng.IntN(4) {
			chosen = append(chosen, patterns[rng.IntN(len(patterns))])
		}
		check(chosen, claims[rng.IntN(len(claims))])
	}
}

// intersection returns the hosts that a listener of a Gateway and a route have in common, as Gateway API documents it
// (apis/v1/httproute_types.go, hostnames). An empty name represents an absent name, and then the other name applies. *.
// represents one or more labels. ok is false if there are no common hosts.
func intersection(listener, route string) (hosts string, ok bool) {
	switch {
	case listener == "" || listener == route:
		return route, true
	case route == "":
		return listener, true
	case below(route, listener):
		return route, true
	case below(listener, route):
		return listener, true
	}
	return "", false
}

// below reports whether each host of a name, which may start with *., is below a wildcard.
func below(name, wildcard string) bool {
	suffix, wild := strings.CutPrefix(wildcard, "*.")
	name = strings.TrimPrefix(name, "*.")
	labels, under := strings.CutSuffix(name, suffix)
	return wild && under && (strings.HasSuffix(labels, ".") || strings.HasPrefix(name, "*.") && labels == "")
}

// gatewayHost returns the hosts of a Gateway API hostname.
func gatewayHost(name string) HostPattern {
	p := ParseHost(name)
	if p.Depth == OneLabelBelow {
		p.Depth = LabelsBelow
	}
	return p
}

// The examples in the documentation of Gateway API v1.7.0: apis/v1/gateway_types.go, hostname of a listener, and
// apis/v1/httproute_types.go, hostnames.
func TestIntersectionAsDocumented(t *testing.T) {
	for _, tt := range []struct {
		listener, route string
		want            string
		ok              bool
	}{
		{"test.example.com", "", "test.example.com", true},
		{"test.example.com", "test.example.com", "test.example.com", true},
		{"test.example.com", "*.example.com", "test.example.com", true},
		{"test.example.com", "test.example.net", "", false},
		{"test.example.com", "*.example.net", "", false},
		{"*.example.com", "", "*.example.com", true},
		{"*.example.com", "test.example.com", "test.example.com", true},
		{"*.example.com", "*.example.com", "*.example.com", true},
		{"*.example.com", "foo.test.example.com", "foo.test.example.com", true}, // any number of labels
		{"*.example.com", "example.com", "", false},                             // and not none
		{"*.example.com", "test.example.net", "", false},
		{"*.example.com", "*.foo.example.com", "*.foo.example.com", true},
		{"", "test.example.com", "test.example.com", true},
		{"", "", "", true},
	} {
		hosts, ok := intersection(tt.listener, tt.route)
		if hosts != tt.want || ok != tt.ok {
			t.Errorf("listener %q, route %q: %q, %t, want %q, %t", tt.listener, tt.route, hosts, ok, tt.want, tt.ok)
		}
		denied := NewHostOverlaps([]HostPattern{gatewayHost(tt.listener)})
		if _, how := denied.Find(gatewayHost(tt.route)); (how != NoOverlap) != tt.ok {
			t.Errorf("listener %q, route %q: have hosts in common: %t, want %t", tt.listener, tt.route, how != NoOverlap, tt.ok)
		}
	}
}

// The common hosts of two Gateway API names are the hosts that the algorithm returns. A policy that owns or denies one
// of the names reports the other name in the same cases.
func TestIntersection(t *testing.T) {
	hosts, all := names(4, "a", "b"), []string{""}
	for _, n := range names(3, "a", "b") {
		all = append(all, n, "*."+n)
	}
	for _, listener := range all {
		l := gatewayHost(listener)
		denied, allowed := NewHostOverlaps([]HostPattern{l}), NewHostSet([]HostPattern{l})
		for _, route := range all {
			r := gatewayHost(route)
			common, ok := intersection(listener, route)
			for _, h := range hosts {
				if want := covers(l, h) && covers(r, h); want != (ok && covers(gatewayHost(common), h)) {
					t.Fatalf("listener %q, route %q: %q, %t; the host %s is in both: %t", listener, route, common, ok, h, want)
				}
			}
			if by, how := denied.Find(r); (how != NoOverlap) != ok {
				t.Fatalf("%q denies %q, by %s: %t, want %t", listener, route, by, how != NoOverlap, ok)
			}
			if by, in := allowed.Covers(r); in != (ok && gatewayHost(common) == r) {
				t.Fatalf("%q allows %q, by %s: %t, and what they have in common is %q", listener, route, by, in, common)
			}
		}
	}
}

// FuzzHostClaims compares allowed, denied and owners with their definitions, for any patterns and any claim. patterns
// are the patterns of a policy, separated by spaces. claim is a host of an object, and deep means that its star covers
// any number of labels.
func FuzzHostClaims(f *testing.F) {
	for _, patterns := range []string{
		"**", "*.example **.a.example", "a.example", "**.apps.example shop.apps.example *.shop.apps.example",
		"**.a.b.c a.b.c",
	} {
		for _, claim := range []string{"", "*.example", "a.example", "*.a.example", "*.com", "b.c", "A.B.C."} {
			f.Add(patterns, claim, true)
			f.Add(patterns, claim, false)
		}
	}
	f.Fuzz(func(t *testing.T, patterns, text string, deep bool) {
		claim := ParseHost(text)
		if deep && claim.Depth == OneLabelBelow {
			claim.Depth = LabelsBelow
		}
		if !claim.IsEvery() && CheckHostName(claim.Name) != nil {
			return // no names: TestHostSetLongName
		}
		var chosen []HostPattern
		for word := range strings.FieldsSeq(patterns) {
			var p HostPattern
			if p.UnmarshalText([]byte(word)) == nil {
				chosen = append(chosen, p)
			}
		}
		if len(chosen) == 0 {
			return
		}
		checkWitnesses(t, chosen, claim)
	})
}

// checkWitnesses compares the results of look-ups with witnesses: one host of each kind that the patterns and a claim
// distinguish.
func checkWitnesses(t *testing.T, patterns []HostPattern, claim HostPattern) {
	t.Helper()
	allowed, denied, owned := true, false, map[int]bool{}
	for _, h := range witnesses(patterns, claim) {
		best := -1
		for i, p := range patterns {
			if covers(p, h) && (best < 0 || moreExact(p, patterns[best])) {
				best = i
			}
		}
		allowed, denied = allowed && best >= 0, denied || best >= 0
		if best >= 0 {
			owned[slices.Index(patterns, patterns[best])] = true
		}
	}
	if by, got := NewHostSet(patterns).Covers(claim); got != allowed {
		t.Errorf("%v allows %s, by %s: %t, want %t", patterns, claim, by, got, allowed)
	}
	if by, how := NewHostOverlaps(patterns).Find(claim); (how != NoOverlap) != denied {
		t.Errorf("%v denies %s, by %s: %t, want %t", patterns, claim, by, how != NoOverlap, denied)
	}
	got := map[int]bool{}
	owners := NewHostOwners(func(yield func(HostPattern, int) bool) {
		for i, p := range patterns {
			if slices.Index(patterns, p) == i && !yield(p, i) {
				return
			}
		}
	})
	for _, owner := range owners.Find(claim) {
		got[owner] = true
	}
	if !equal(got, owned) {
		t.Errorf("%v: the owners of %s are %v, want %v", patterns, claim, got, owned)
	}
}

// moreExact reports whether p is more specific than q, if both cover a host.
func moreExact(p, q HostPattern) bool {
	return len(p.Name) > len(q.Name) || len(p.Name) == len(q.Name) && p.Depth < q.Depth
}

// witnesses returns hosts of a claim: each name in a pattern, one and two labels below this name, and the same for the
// name in the claim. No pattern has the added label.
func witnesses(patterns []HostPattern, claim HostPattern) []string {
	fresh := strings.Repeat("z", 63) // as long as a label can be
	for slices.ContainsFunc(patterns, func(p HostPattern) bool { return strings.Contains(p.Name, fresh) }) {
		fresh = fresh[1:] + "y"
	}
	var hosts []string
	for _, p := range append(slices.Clone(patterns), claim) {
		for _, labels := range []string{"", fresh + ".", fresh + "." + fresh + "."} {
			h := strings.TrimSuffix(labels+p.Name, ".")
			if h != "" && covers(claim, h) {
				hosts = append(hosts, h)
			}
		}
	}
	return hosts
}
