package plan

import (
	"cmp"
	"maps"
	"slices"
)

const (
	// maxNames is how many rules and namespaces are told apart: as many as there are in the largest clusters, and some
	// megabytes.
	maxNames = 10_000
	// maxRows is how many of them a report has: as many as the counts of an audit have.
	maxRows = 500
)

// others stands for the names beyond maxNames. Neither a rule nor a namespace can be called that.
const others = "(others)"

// table counts changes by name.
type table map[string]*Counts

func newTable() table { return table{} }

// add counts the changes of one object.
func (t table) add(name string, kinds []Kind) {
	c := t[name]
	if c == nil && len(t) >= maxNames {
		name = others
		c = t[name]
	}
	if c == nil {
		c = new(Counts)
		t[name] = c
	}
	c.add(kinds)
}

// rows returns the first rows in the order of changes, those of the kinds that matter most first, and how many rows
// there are more.
func (t table) rows(most int) (rows []Row, more int) {
	names := slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		for i := range numKinds {
			if n := cmp.Compare(t[b][i], t[a][i]); n != 0 {
				return n
			}
		}
		return cmp.Compare(a, b)
	})
	rows = []Row{}
	for _, name := range names[:min(most, len(names))] {
		rows = append(rows, Row{name, *t[name]})
	}
	return rows, len(names) - len(rows)
}
