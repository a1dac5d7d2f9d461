package mirror

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// findOverlaps reports an error if and only if comparing all pairs of patterns finds an overlap, and only for pairs
// that overlap.
func TestFindOverlapsEqualsPairwise(t *testing.T) {
	const seed = 3 // any fixed seed, so a failure can be repeated
	random := rand.New(rand.NewPCG(seed, seed))
	overlapping := 0
	for range 20_000 {
		all := randomPatterns(random, 2+random.IntN(5))
		slices.SortStableFunc(all, func(a, b namespacePattern) int { return a.mirror.order - b.mirror.order })
		want := false
		for i, c := range all {
			for _, d := range all[:i] {
				want = want || c.mirror != d.mirror && c.pattern.Overlaps(d.pattern)
			}
		}
		var errs strict.Collector
		findOverlaps(source{place: "x"}, slices.Clone(all), rule.NewComparisons(t.Context(), 1000), &errs)
		if got := errs.Len() > 0; got != want {
			t.Fatalf("%v: got %v, want %v", all, got, want)
		}
		if want {
			overlapping++
		}
		for _, e := range errs.Errors() {
			_, named, _ := strings.Cut(e.Msg, "the namespaces ")
			second, rest, _ := strings.Cut(named, " of this match overlap with ")
			first, _, _ := strings.Cut(rest, " of ")
			if !match.Glob(first).Overlaps(match.Glob(second)) {
				t.Fatalf("%v: %s", all, e.Msg)
			}
		}
	}
	if overlapping < 1000 || overlapping > 19_000 {
		t.Errorf("%d of 20,000 overlap: the test is one of little else", overlapping)
	}
}

// Closed patterns are removed. Otherwise each later pattern would search all open patterns in vain, and these
// comparisons are not counted.
func TestOverlapsRemovesClosed(t *testing.T) {
	const seed = 5 // any
	random := rand.New(rand.NewPCG(seed, seed))
	closed := 0
	for range 1000 {
		var errs strict.Collector
		x := newOverlaps(source{place: "x"}, randomPatterns(random, 10), rule.NewComparisons(t.Context(), 1000), &errs)
		opened := 0
		for i, c := range x.all {
			x.compare(i, c)
			if c.pattern.IsWild() {
				opened++
			}
			want, open := slices.Repeat([]orders{noOrders()}, len(x.tails.tails)), make([]int, len(x.tails.tails))
			for _, o := range x.open {
				order := o.mirror.order
				want[o.tail] = want[o.tail].with(orders{order, order})
				open[o.tail]++
			}
			for rank := range want {
				if x.tails.leaf(rank) != want[rank] || len(x.byTail[rank]) != open[rank] {
					t.Fatalf("%v, after %d: of the tail %q: %v and %d, want %v and %d",
						x.all, i, x.tails.tails[rank], x.tails.leaf(rank), len(x.byTail[rank]), want[rank], open[rank])
				}
			}
		}
		closed += opened - len(x.open)
	}
	if closed < 1000 {
		t.Errorf("only %d were closed: this proves little", closed)
	}
}

// randomPatterns returns n short patterns of three entries.
func randomPatterns(random *rand.Rand, n int) (all []namespacePattern) {
	mirrors := []mirror{{order: 0}, {order: 1}, {order: 2}}
	for range n {
		b := make([]byte, 1+random.IntN(6))
		for i := range b {
			b[i] = "ab*"[random.IntN(3)]
		}
		all = append(all, namespacePattern{match.Glob(b), &mirrors[random.IntN(len(mirrors))]})
	}
	return all
}
