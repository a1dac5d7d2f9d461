// Package report writes the results of a run of the incident catalogue: for each incident, the values with the feature
// that prevents it and, for the control run, without this feature.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Figure is a counted or measured value.
type Figure struct{ Name, Value string }

// Row is one run of an incident.
type Row struct {
	Incident string // its number in the catalogue, such as I1
	What     string // the disturbance, such as: rollout restart every 20 s
	Guard    string // the feature that prevents it; for a control run, the feature that was removed
	Control  bool
	Figures  []Figure
	Broken   []string // observed violations of the guarantee; empty if it held
	Took     time.Duration
}

// Right reports whether the row has the expected result: the guarantee held, or, in a control run, was broken.
func (r Row) Right() bool { return r.Control == (len(r.Broken) > 0) }

func (r Row) result() string {
	switch {
	case r.Control && r.Right():
		return "breaks, as it must"
	case r.Control:
		return "**does not break: the test above cannot detect a failure**"
	case r.Right():
		return "held"
	default:
		return "**broken**"
	}
}

// Report contains the rows of a run. It is safe for concurrent use.
type Report struct {
	mu    sync.Mutex
	about []Figure
	rows  []Row
}

// Describe records a fact about the run: its time, its place, or its version. The first value for a name is kept.
func (r *Report) Describe(name, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.about, func(f Figure) bool { return f.Name == name }) {
		r.about = append(r.about, Figure{name, value})
	}
}

// Add adds a row.
func (r *Report) Add(row Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, row)
}

// Empty reports whether the report does not contain any rows, for example because all tests were skipped.
func (r *Report) Empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.rows) == 0
}

// Write writes the report in Markdown: the facts about the run, a table of all rows, and then the values of each row.
func (r *Report) Write(w io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	b.WriteString("# The incident catalogue: the last run\n\nWritten by the run itself (`make e2e`); what the incidents " +
		"are is described in [guarantees](../docs/guarantees.md).\n\n| | |\n| --- | --- |\n")
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

// cell formats text for one line of a table.
func cell(s string) string {
	const enough = 400 // characters; the start of a reason is enough
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
	if r := []rune(s); len(r) > enough {
		s = string(r[:enough]) + "…"
	}
	return s
}
