// Package report writes down what a run of the incident catalogue has seen: for each incident the figures with what
// guards against it and, for the control, without.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Figure is one thing that was counted or measured.
type Figure struct{ Name, Value string }

// Row is one incident that was made to happen once.
type Row struct {
	Incident string // its number in the catalogue: I1
	What     string // the disturbance: rollout restart every 20 s
	Guard    string // what guards against it; for a control, what was taken away
	Control  bool
	Figures  []Figure
	Broken   []string // what the guarantee forbids and was seen; none: it held
	Took     time.Duration
}

// Right reports whether the row is as it has to be: the guarantee held, or the control saw that it was broken.
func (r Row) Right() bool { return r.Control == (len(r.Broken) > 0) }

func (r Row) result() string {
	switch {
	case r.Control && r.Right():
		return "breaks, as it must"
	case r.Control:
		return "**does not break: the test above sees nothing**"
	case r.Right():
		return "held"
	default:
		return "**broken**"
	}
}

// Report is the rows of a run. It may be used by any number of goroutines.
type Report struct {
	mu    sync.Mutex
	about []Figure
	rows  []Row
}

// Describe writes down what has to be known of the run: when, where, of what. What is said first of a name stands.
func (r *Report) Describe(name, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.about, func(f Figure) bool { return f.Name == name }) {
		r.about = append(r.about, Figure{name, value})
	}
}

// Add writes a row down.
func (r *Report) Add(row Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, row)
}

// Empty reports whether nothing was written down, as when all tests were skipped.
func (r *Report) Empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.rows) == 0
}

// Write writes the report in Markdown: what has to be known of the run, a table of all rows, then the figures of each.
func (r *Report) Write(w io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	b.WriteString("# The incident catalogue: the last run\n\nWritten by the run itself (`make e2e`); what the incidents " +
		"are stands in [guarantees](../docs/guarantees.md).\n\n| | |\n| --- | --- |\n")
	for _, f := range r.about {
		fmt.Fprintf(&b, "| %s | %s |\n", f.Name, cell(f.Value))
	}
	b.WriteString("\n| incident | what is done | result | took |\n| --- | --- | --- | --- |\n")
	for _, row := range r.rows {
		what := row.What
		if row.Control {
			what = "control, " + row.Guard
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.Incident, cell(what), row.result(), row.Took.Round(time.Second))
	}
	last := ""
	for _, row := range r.rows {
		if heading := row.Incident + ": " + row.What; heading != last {
			fmt.Fprintf(&b, "\n## %s\n", heading)
			last = heading
		}
		row.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Row) write(b *strings.Builder) {
	with := "with"
	if r.Control {
		with = "control:"
	}
	fmt.Fprintf(b, "\n%s %s: %s.\n\n", with, r.Guard, r.result())
	for _, f := range r.Figures {
		fmt.Fprintf(b, "- %s: %s\n", f.Name, cell(f.Value))
	}
	for _, why := range r.Broken {
		fmt.Fprintf(b, "- seen: %s\n", cell(why))
	}
}

// cell makes a text fit in one line of a table.
func cell(s string) string {
	const enough = 400 // characters: a reason is read at its beginning
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
	if r := []rune(s); len(r) > enough {
		s = string(r[:enough]) + "…"
	}
	return s
}
