package match

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// covers reports whether a pattern covers a host, by the definition of patterns.
func covers(p HostPattern, host string) bool {
	labels, below := strings.CutSuffix("."+host, "."+p.Name)
	if p.Name == "" {
		labels, below = "."+host, true
	}
	switch p.Depth {
	case HostItself:
		return host == p.Name
	case OneLabelBelow:
		return below && strings.Count(labels, ".") == 1
	default:
		return below && labels != ""
	}
}

// Find finds the owners of all hosts of a pattern, with the same result as looking up each host.
func TestHostOwners(t *testing.T) {
	words := []string{"a", "b", "c"} // no pattern has c, as there is always a name that none has
	var hosts []string               // of up to four labels, of these words
	for level := []string{""}; len(hosts) < 100; {
		var next []string
		for _, h := range level {
			for _, w := range words {
				next = append(next, strings.TrimSuffix(w+"."+h, "."))
			}
		}
		hosts, level = append(hosts, next...), next
	}
	var names []string // up to two labels, so there are hosts below the patterns
	for _, h := range hosts {
		if strings.Count(h, ".") < 2 && !strings.Contains(h, "c") {
			names = append(names, h)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	pattern := func() HostPattern {
		if random.IntN(12) == 0 {
			return EveryHost()
		}
		return HostPattern{names[random.IntN(len(names))], HostDepth(random.IntN(3))}
	}
	for range 20_000 {
		owners := map[HostPattern]int{}
		for range random.IntN(6) {
			owners[pattern()] = random.IntN(3)
		}
		o := NewHostOwners(func(yield func(HostPattern, int) bool) {
			for p, owner := range owners {
				if !yield(p, owner) {
					return
				}
			}
		})
		asked := pattern()
		want := map[int]bool{}
		for _, h := range hosts {
			if !covers(asked, h) {
				continue
			}
			exact := func(p HostPattern) int { // the more exact, the higher
				return 4*len(p.Name) + 2 - int(p.Depth)
			}
			best, found := HostPattern{}, false
			for p := range owners {
				if covers(p, h) && (!found || exact(p) > exact(best)) {
					best, found = p, true
				}
			}
			if found {
				want[owners[best]] = true
			}
		}
		got := map[int]bool{}
		for by, owner := range o.Find(asked) {
			if owners[by] != owner {
				t.Fatalf("%v: %s is of %d, not of %d", owners, by, owners[by], owner)
			}
			got[owner] = true
		}
		if !equal(got, want) {
			t.Fatalf("%v: %s is of %v, want %v", owners, asked, got, want)
		}
	}
}

func equal(a, b map[int]bool) bool {
	keys := func(m map[int]bool) (all []int) {
		for k := range m {
			all = append(all, k)
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(keys(a), keys(b))
}
