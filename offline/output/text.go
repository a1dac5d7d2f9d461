package output

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evergate/evergate/internal/text"
)

// Printer collects the text of a report for users: lines with a label, and tables.
type Printer struct {
	Options
	bytes.Buffer
	section bool // an empty line comes first
}

// Tone is the color of a text, for example text.Colors.Bad. If it is nil, the text has no color.
type Tone func(text.Colors, string) string

// Paint returns a text in a color.
func (p *Printer) Paint(tone Tone, s string) string {
	if tone == nil {
		return s
	}
	return tone(p.Colors, s)
}

// Section begins a new section: an empty line separates the next line from the lines before.
func (p *Printer) Section() { p.section = p.Len() > 0 }

// Line writes a line.
func (p *Printer) Line(format string, args ...any) {
	if p.section {
		p.section = false
		p.WriteByte('\n')
	}
	fmt.Fprintf(p, format+"\n", args...)
}

// Note writes a line with a label, such as "warning:".
func (p *Printer) Note(tone Tone, label, line string) { p.Line("%s %s", p.Paint(tone, label), line) }

// labelWidth is the width of the labels of Item. The longest label is "rewritten".
const labelWidth = 9

// Item writes a line of a list. Its label is in a column with the labels of the other items.
func (p *Printer) Item(indent string, tone Tone, label, line string) {
	p.Line("%s%s  %s", indent, p.Paint(tone, fmt.Sprintf("%-*s", labelWidth, label)), line)
}

// Cell is a cell of a table.
type Cell struct {
	Text  string
	Tone  Tone
	Right bool // aligned, like numbers
}

// Number returns a cell with a number, which has a color unless it is 0.
func Number(n int, tone Tone) Cell {
	if n == 0 {
		tone = nil
	}
	return Cell{text.Thousands(n), tone, true}
}

const (
	// maxColumn is the maximum width of a column. A longer cell moves the rest of its row to the right.
	maxColumn = 70
	// maxCell is the maximum length of a cell, in bytes.
	maxCell = 2048
)

// Table writes rows with aligned columns, and calls after with the index of each row after the row, unless it is nil.
// Texts may come from the input: Table makes them printable.
func (p *Printer) Table(rows [][]Cell, after func(row int)) {
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i].Text = text.Printable(row[i].Text, maxCell)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], min(maxColumn, utf8.RuneCountInString(row[i].Text)))
		}
	}
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, c := range row {
			pad := strings.Repeat(" ", max(0, widths[j]-utf8.RuneCountInString(c.Text)))
			if cells[j] = p.Paint(c.Tone, c.Text) + pad; c.Right {
				cells[j] = pad + p.Paint(c.Tone, c.Text)
			}
		}
		p.Line("%s", strings.TrimRight(strings.Join(cells, "  "), " "))
		if after != nil {
			after(i)
		}
	}
}

// Column is a column of a table of numbers.
type Column struct {
	Head string
	Tone Tone
}

// Row is a row of a table of numbers.
type Row struct {
	Name    string
	Numbers []int // in the order of the columns
}

// shownRows is the number of rows of a table that are written unless the user requests all. They fit on a screen.
const shownRows = 20

// Numbers writes a section with a table of numbers, without columns that contain only zeros. more is the number of
// further rows.
func (p *Printer) Numbers(title string, columns []Column, rows []Row, more int) {
	if len(rows) == 0 {
		return
	}
	if len(rows) > shownRows && !p.AllRows {
		rows, more = rows[:shownRows], more+len(rows)-shownRows
	}
	table := [][]Cell{{{Text: title, Tone: text.Colors.Head}}}
	for _, row := range rows {
		table = append(table, []Cell{{Text: "  " + cmp.Or(row.Name, `""`)}})
	}
	for i, column := range columns {
		if !slices.ContainsFunc(rows, func(r Row) bool { return r.Numbers[i] > 0 }) {
			continue
		}
		table[0] = append(table[0], Cell{column.Head, text.Colors.Head, true})
		for j, row := range rows {
			table[j+1] = append(table[j+1], Number(row.Numbers[i], column.Tone))
		}
	}
	p.Section()
	p.Table(table, nil)
	if more > 0 {
		p.Line("  and %s more", text.Thousands(more))
	}
}

// Tally counts by name and by column. The first columns are the most important.
type Tally struct {
	columns int
	rows    map[string][]int
}

// NewTally returns an empty Tally.
func NewTally(columns int) Tally { return Tally{columns, map[string][]int{}} }

const (
	// maxNames is the maximum number of names that a Tally distinguishes. The largest clusters have about as many
	// namespaces, and they take a few megabytes.
	maxNames = 10_000
	// others represents the names over maxNames. A rule or a namespace cannot have this name.
	others = "(others)"
)

// Add adds a number to a column of a name.
func (t Tally) Add(name string, column, n int) {
	if t.rows[name] == nil && len(t.rows) >= maxNames {
		name = others
	}
	if t.rows[name] == nil {
		t.rows[name] = make([]int, t.columns)
	}
	t.rows[name][column] += n
}

// Rows returns the rows. Those with the largest numbers in the first columns come first.
func (t Tally) Rows() []Row {
	rows := make([]Row, 0, len(t.rows))
	for _, name := range slices.Sorted(maps.Keys(t.rows)) {
		rows = append(rows, Row{name, t.rows[name]})
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return slices.Compare(b.Numbers, a.Numbers) })
	return rows
}

// List lists the strings that are not empty, separated by commas.
func List(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// Some returns a number with the thing that it counts, or an empty string if the number is 0.
func Some(n int, what string) string {
	if n == 0 {
		return ""
	}
	return text.Thousands(n) + " " + what
}
