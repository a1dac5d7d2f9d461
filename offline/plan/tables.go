package plan

import (
	"cmp"
	"maps"
	"slices"
)

const (
	// maxNames is the maximum number of rules and of namespaces that are distinguished. The largest clusters have
	// about as many, and they take a few megabytes.
	maxNames = 10_000
	// maxRows is the maximum number of rows in a report, like in the counts of an audit.
	maxRows = 500
)

// others represents the names over maxNames. A rule or a namespace cannot have this name.
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

// rows returns at most most rows, sorted by the most important kinds of changes, and the number of remaining rows.
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
