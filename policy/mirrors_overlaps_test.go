package policy

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/internal/strict"
)

// It is found that patterns of different entries overlap if, compared each with each, any do; and those that are named
// do.
func TestFindOverlapsIsComparingEachWithEach(t *testing.T) {
	const seed = 3 // any: the same each time, so that a failure can be repeated
	random := rand.New(rand.NewPCG(seed, seed))
	overlapping := 0
	for range 20_000 {
		var all []conditional
		mirrors := []mirror{{order: 0}, {order: 1}, {order: 2}}
		for range 2 + random.IntN(5) {
			b := make([]byte, 1+random.IntN(6))
			for i := range b {
				b[i] = "ab*"[random.IntN(3)]
			}
			all = append(all, conditional{glob(b), &mirrors[random.IntN(len(mirrors))]})
		}
		slices.SortStableFunc(all, func(a, b conditional) int { return a.mirror.order - b.mirror.order })
		want := false
		for i, c := range all {
			for _, d := range all[:i] {
				want = want || c.mirror != d.mirror && c.pattern.overlaps(d.pattern)
			}
		}
		var errs strict.Collector
		findOverlaps(source{place: "x"}, slices.Clone(all), &comparisons{ctx: t.Context(), limit: 1000}, &errs)
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
			if !glob(first).overlaps(glob(second)) {
				t.Fatalf("%v: %s", all, e.Msg)
			}
		}
	}
	if overlapping < 1000 || overlapping > 19_000 {
		t.Errorf("%d of 20,000 overlap: the test is one of little else", overlapping)
	}
}
