package mirror

import (
	"math"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// overlaps finds patterns in different entries of one source that match a common namespace. It does not compare every
// pair of patterns.
//
// Two patterns with a * match a common namespace if one head begins with the other and one tail ends with the other
// (see match.Glob.Overlaps). The patterns are sorted by head. A pattern stays open, like a bracket, while the heads
// after it begin with its head. Each pattern is compared only with the open patterns. The reversed tails are sorted.
// The tails that end with a given tail are the range after it, and the tails with which it ends are its parents. One
// look-up in a tree over the tails of the open patterns therefore shows whether another entry has an overlapping
// pattern.
//
// For a name without *, the text between the stars matters too. The name is compared with each open pattern whose tail
// it ends with, within the limit on comparisons.
type overlaps struct {
	source source
	effort *rule.Comparisons
	errs   *strict.Collector

	all    []namespacePattern // sorted by head; with the same head, patterns with * come first
	tails  tailTree
	open   []opened
	byTail [][]namespacePattern // open, by the rank of their tail
}

// opened is a pattern whose head may be the beginning of the following heads.
type opened struct {
	namespacePattern
	tail   int    // its rank
	before orders // value of its leaf in the tree before it was opened
}

// findOverlaps adds an error for each pattern that overlaps with a pattern in another entry of the source. It sorts
// all.
func findOverlaps(s source, all []namespacePattern, e *rule.Comparisons, errs *strict.Collector) {
	if !slices.ContainsFunc(all, func(c namespacePattern) bool { return c.mirror != all[0].mirror }) {
		return // patterns in the same entry may overlap
	}
	x := newOverlaps(s, all, e, errs)
	for i, c := range all {
		if e.Over || e.PollDone() {
			return
		}
		x.compare(i, c)
	}
}

// newOverlaps returns the overlaps of a source. It sorts all, but does not compare patterns.
func newOverlaps(s source, all []namespacePattern, e *rule.Comparisons, errs *strict.Collector) *overlaps {
	slices.SortStableFunc(all, func(a, b namespacePattern) int {
		switch {
		case a.pattern.Head() != b.pattern.Head():
			return strings.Compare(a.pattern.Head(), b.pattern.Head())
		case a.pattern.IsWild() == b.pattern.IsWild():
			return 0 // in the order of entries
		case a.pattern.IsWild():
			return -1
		}
		return 1
	})
	tails := newTailTree(all)
	byTail := make([][]namespacePattern, len(tails.tails))
	return &overlaps{source: s, effort: e, errs: errs, all: all, tails: tails, byTail: byTail}
}

// compare compares the pattern at i with the patterns before it.
func (x *overlaps) compare(i int, c namespacePattern) {
	head := c.pattern.Head()
	for len(x.open) > 0 && !strings.HasPrefix(head, x.open[len(x.open)-1].pattern.Head()) {
		x.closeLast()
	}
	rank := x.tails.rank(c.pattern.Tail())
	if !c.pattern.IsWild() {
		x.compareName(i, c, rank)
		return
	}
	if x.tails.hasOther(rank, c.mirror.order) {
		x.addErrorFor(c)
	}
	x.open = append(x.open, opened{c, rank, x.tails.leaf(rank)})
	x.byTail[rank] = append(x.byTail[rank], c)
	x.tails.add(rank, c.mirror.order)
}

// closeLast closes the pattern that was opened last.
func (x *overlaps) closeLast() {
	last := x.open[len(x.open)-1]
	x.tails.set(last.tail, last.before)
	x.byTail[last.tail] = x.byTail[last.tail][:len(x.byTail[last.tail])-1]
	x.open = x.open[:len(x.open)-1]
}

// compareName looks for a pattern of another entry that matches a name without *. It is either the same name, which
// then directly precedes the name in the sorted list, or an open pattern with a *.
func (x *overlaps) compareName(i int, c namespacePattern, rank int) {
	if i > 0 && x.all[i-1].pattern == c.pattern && x.all[i-1].mirror != c.mirror {
		x.addError(x.all[i-1], c)
		return
	}
	for ; rank >= 0; rank = x.tails.parent[rank] {
		if !x.tails.leaf(rank).hasOther(c.mirror.order) {
			continue
		}
		for _, o := range x.byTail[rank] {
			if !x.effort.Compare() {
				return
			}
			if o.mirror != c.mirror && o.pattern.Match(string(c.pattern)) {
				x.addError(o, c)
				return
			}
		}
	}
}

// addErrorFor adds an error about c and an open pattern that overlaps with c.
func (x *overlaps) addErrorFor(c namespacePattern) {
	if !x.errs.TryAdd() {
		return
	}
	for _, o := range x.open {
		if o.mirror != c.mirror && o.pattern.Overlaps(c.pattern) {
			x.addError(o.namespacePattern, c)
			return
		}
	}
}

// addError adds an error about two patterns that overlap. Its position is the later entry.
func (x *overlaps) addError(first, second namespacePattern) {
	if first.mirror.order > second.mirror.order {
		first, second = second, first
	}
	x.errs.Errorf(second.mirror.Pos, "for the source %s, the namespaces %s of this match overlap with %s of %s: "+
		"entries for one source need namespaces that do not overlap",
		x.source, second.pattern, first.pattern, first.mirror.where())
}

// orders contains the least and the greatest order of some entries.
type orders struct{ least, greatest int }

// noOrders returns the value of orders without entries.
func noOrders() orders { return orders{math.MaxInt, -1} }

// with returns the orders of all entries in o and p.
func (o orders) with(p orders) orders {
	return orders{min(o.least, p.least), max(o.greatest, p.greatest)}
}

// hasOther reports whether there is an entry with another order.
func (o orders) hasOther(order int) bool {
	return o.greatest >= 0 && (o.least != order || o.greatest != order)
}

// tailTree is a segment tree over the tails of patterns. For each tail, and for ranges of tails, it contains the orders
// of the entries whose open patterns have these tails. The rank of a tail is its index in tails.
type tailTree struct {
	tails  []string // reversed, each once, sorted
	parent []int    // rank of the longest other tail that a tail ends with; negative if no tail matches
	end    []int    // end of the range of tails that end with a tail; the range begins with the tail itself
	nodes  []orders
}

func newTailTree(all []namespacePattern) tailTree {
	t := tailTree{tails: make([]string, len(all))}
	for i, c := range all {
		t.tails[i] = reversed(c.pattern.Tail())
	}
	slices.Sort(t.tails)
	t.tails = slices.Clip(slices.Compact(t.tails))
	n := len(t.tails)
	t.parent, t.end, t.nodes = make([]int, n), make([]int, n), make([]orders, 2*n)
	for i := range t.nodes {
		t.nodes[i] = noOrders()
	}
	var open []int
	for i, tail := range t.tails {
		for len(open) > 0 && !strings.HasPrefix(tail, t.tails[open[len(open)-1]]) {
			t.end[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
		if t.parent[i] = -1; len(open) > 0 {
			t.parent[i] = open[len(open)-1]
		}
		open = append(open, i)
	}
	for _, i := range open {
		t.end[i] = n
	}
	return t
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func (t *tailTree) rank(tail string) int {
	i, _ := slices.BinarySearch(t.tails, reversed(tail))
	return i
}

func (t *tailTree) leaf(rank int) orders { return t.nodes[len(t.tails)+rank] }

func (t *tailTree) add(rank, order int) { t.set(rank, t.leaf(rank).with(orders{order, order})) }

func (t *tailTree) set(rank int, o orders) {
	i := len(t.tails) + rank
	t.nodes[i] = o
	for i /= 2; i > 0; i /= 2 {
		t.nodes[i] = t.nodes[2*i].with(t.nodes[2*i+1])
	}
}

// hasOther reports whether an entry with another order has an open pattern whose tail ends with the given tail, or
// whose tail is the end of the given tail.
func (t *tailTree) hasOther(rank, order int) bool {
	found := noOrders()
	for l, r := len(t.tails)+rank, len(t.tails)+t.end[rank]; l < r; l, r = l/2, r/2 {
		if l%2 == 1 {
			found = found.with(t.nodes[l])
			l++
		}
		if r%2 == 1 {
			r--
			found = found.with(t.nodes[r])
		}
	}
	for i := t.parent[rank]; i >= 0; i = t.parent[i] {
		found = found.with(t.leaf(i))
	}
	return found.hasOther(order)
}
