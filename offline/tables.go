package offline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// tableRows is the number of rows of a table that are written unless the user requests all of them. They fit on a
// screen.
const tableRows = 20

// modeCounts counts findings by the mode of their rule, exempt findings, and images outside their mirrors.
type modeCounts struct{ enforce, warn, audit, exempt, outside int }

func (m *modeCounts) add(mode string, n int) {
	switch mode {
	case policy.Enforce.String():
		m.enforce += n
	case policy.Warn.String():
		m.warn += n
	case policy.ExemptWord:
		m.exempt += n
	default:
		m.audit += n
	}
}

// tables writes the counts of an audit by rule and by namespace, sorted by severity.
func (w *textWriter) tables(c *Counts, all bool) {
	rules, namespaces := map[string]*modeCounts{}, map[string]*modeCounts{}
	of := func(m map[string]*modeCounts, name string) *modeCounts {
		if m[name] == nil {
			m[name] = new(modeCounts)
		}
		return m[name]
	}
	for k, n := range c.Findings {
		of(rules, k.Rule+"/"+k.Check).add(k.Mode, n)
		of(namespaces, text.Name(k.Namespace)).add(k.Mode, n)
	}
	for k, n := range c.Images {
		if k.Outcome == outside {
			of(rules, "mirrors entry "+k.Entry).outside += n
			of(namespaces, text.Name(k.Namespace)).outside += n
		}
	}
	w.table("by rule", rules, all)
	w.table("by namespace", namespaces, all)
}

// table writes a row for each name, the worst first.
func (w *textWriter) table(title string, rows map[string]*modeCounts, all bool) {
	if len(rows) == 0 {
		return
	}
	names := slices.SortedFunc(maps.Keys(rows), func(a, b string) int {
		x, y := rows[a], rows[b]
		return cmp.Or(cmp.Compare(y.enforce, x.enforce), cmp.Compare(y.warn, x.warn), cmp.Compare(y.audit, x.audit),
			cmp.Compare(y.outside, x.outside), cmp.Compare(y.exempt, x.exempt), cmp.Compare(a, b))
	})
	more := 0
	if !all && len(names) > tableRows {
		more = len(names) - tableRows
		names = names[:tableRows]
	}
	width := len(title)
	for _, name := range names {
		width = max(width, len(name)+2)
	}
	heading := fmt.Sprintf("%-*s  %8s  %8s  %8s  %8s", width, title, "enforce", "warn", "audit", "outside")
	exempt := slices.ContainsFunc(names, func(name string) bool { return rows[name].exempt > 0 })
	if exempt {
		heading += fmt.Sprintf("  %8s", policy.ExemptWord)
	}
	w.WriteString(w.colors.Head(heading) + "\n")
	for _, name := range names {
		m := rows[name]
		fmt.Fprintf(w, "  %-*s  %s  %s  %s  %s", width-2, name, cell(m.enforce, w.colors.Bad),
			cell(m.warn, w.colors.Warn), cell(m.audit, w.colors.Note), cell(m.outside, w.colors.Note))
		if exempt {
			w.WriteString("  " + cell(m.exempt, w.colors.Note))
		}
		w.WriteString("\n")
	}
	if more > 0 {
		fmt.Fprintf(w, "  and %s more\n", text.Thousands(more))
	}
	w.WriteString("\n")
}

// cell returns a right-aligned number, in a color unless it is 0.
func cell(n int, color func(string) string) string {
	s := fmt.Sprintf("%8s", text.Thousands(n))
	if n == 0 {
		return fmt.Sprintf("%8s", strconv.Itoa(n))
	}
	return color(s)
}
