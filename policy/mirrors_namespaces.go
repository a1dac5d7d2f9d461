package policy

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/strict"
)

// namespaceIndex finds among the entries of one source the one whose match a Pod meets. They are filed under what
// their patterns begin with, so that ten thousand teams with an entry each cost no more than one.
type namespaceIndex map[string][]conditional

// conditional is a route that is taken in the namespaces that a pattern covers.
type conditional struct {
	pattern glob
	route   *route
}

// head is what a pattern has before its first *: all of it when it has none.
func (c conditional) head() string {
	head, _, _ := strings.Cut(string(c.pattern), "*")
	return head
}

// add files a route of an entry with match. One that names no namespaces covers all of them.
func (x namespaceIndex) add(r *route) {
	patterns := r.Match.Namespaces
	if patterns == nil {
		patterns = []glob{"*"}
	}
	for _, p := range patterns {
		c := conditional{p, r}
		x[c.head()] = append(x[c.head()], c)
	}
}

// find returns the route whose match is met. Since their namespaces do not overlap, the first is the only one.
func (x namespaceIndex) find(s *subject) *route {
	if len(x) == 0 {
		return nil
	}
	for i := range len(s.namespace) + 1 {
		for _, c := range x[s.namespace[:i]] {
			if !c.pattern.match(s.namespace) {
				continue
			}
			if c.route.Match.misses(s).dimension != "" {
				return nil
			}
			return c.route
		}
	}
	return nil
}

// all yields every conditional, in no order.
func (x namespaceIndex) all() iter.Seq[conditional] {
	return func(yield func(conditional) bool) {
		for _, cs := range x {
			for _, c := range cs {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// overlaps refuses entries of one source whose namespaces overlap: which of them applies would be left to chance.
func (t *mirrorTable) overlaps() strict.Errors {
	var errs strict.Errors
	for i := range t.origins {
		errs = append(errs, t.origins[i].overlaps()...)
	}
	return errs
}

func (o *origin) overlaps() strict.Errors {
	// Two patterns overlap only if one of their heads begins with the other. In the order of heads, those that another
	// one begins with are the ones before it that are still open, as brackets are.
	all := slices.SortedFunc(o.matched.all(), func(a, b conditional) int {
		return cmp.Or(strings.Compare(a.head(), b.head()), cmp.Compare(a.route.order, b.route.order))
	})
	var errs strict.Errors
	var open []conditional
	for _, c := range all {
		for len(open) > 0 && !strings.HasPrefix(c.head(), open[len(open)-1].head()) {
			open = open[:len(open)-1]
		}
		if i := slices.IndexFunc(open, c.overlaps); i >= 0 {
			first, second := open[i], c
			if first.route.order > second.route.order {
				first, second = second, first
			}
			errs = append(errs, second.route.Pos.Errorf("for the source %s, the namespaces %s of this match overlap with "+
				"%s of %s: entries for one source need namespaces that do not overlap",
				o.source, second.pattern, first.pattern, first.route.where()))
		}
		open = append(open, c)
	}
	return errs
}

// overlaps tells whether two entries cover a common namespace. What the patterns end with is compared first, because
// it tells most of them apart at once.
func (c conditional) overlaps(d conditional) bool {
	if c.route.mirror == d.route.mirror {
		return false
	}
	a, b := c.tail(), d.tail()
	return (strings.HasSuffix(a, b) || strings.HasSuffix(b, a)) && c.pattern.overlaps(d.pattern)
}

// tail is what a pattern has after its last *: all of it when it has none.
func (c conditional) tail() string {
	return string(c.pattern[strings.LastIndexByte(string(c.pattern), '*')+1:])
}
