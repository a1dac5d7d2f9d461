package mirrors

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/output"
)

// writePolicy returns a policy with entries.
func writePolicy(entries []entry) string {
	var b strings.Builder
	b.WriteString("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n")
	if len(entries) > 0 {
		b.WriteString("mirrors:\n")
	}
	for _, e := range entries {
		fmt.Fprintf(&b, "- name: %s\n  sources: %s\n  mirror: %s\n", e.name, flow(e.sources), scalar(e.mirror))
		if e.secret != "" {
			fmt.Fprintf(&b, "  imagePullSecret: %s\n", scalar(e.secret))
		}
		if len(e.excluded) > 0 {
			fmt.Fprintf(&b, "  exclude:\n    images: %s\n", flow(e.excluded))
		}
		b.WriteString("  mode: enforce\n")
	}
	return b.String()
}

func flow(list []string) string {
	var all []string
	for _, s := range list {
		all = append(all, scalar(s))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// scalar returns a string as YAML.
func scalar(s string) string {
	if regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9./:-]*[a-zA-Z0-9]$`).MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// Policy returns the policy. A comment above each entry lists its rows, and the difference of a row that differs. The
// policy is empty if no row has a mirror.
func (x *Importer) Policy() string {
	var b strings.Builder
	for l := range strings.Lines(x.text) {
		if name, ok := strings.CutPrefix(l, "- name: "); ok {
			for _, i := range x.owners[strings.TrimSpace(name)] {
				fmt.Fprintf(&b, "# %s\n", oneLine(x.results[i].String()))
			}
		}
		b.WriteString(l)
	}
	if len(x.owners) == 0 {
		return ""
	}
	return b.String()
}

// oneLine returns text of a file as a line that a terminal shows and that a comment can contain.
func oneLine(s string) string { return strings.ReplaceAll(text.Escape(s), "\n", `\n`) }

// String returns the place, the source and the verdict of a row, with the reason.
func (r Result) String() string {
	s := fmt.Sprintf("%s:%d: %s: %s", text.Path(r.File), r.Line, r.Source, r.Verdict)
	if r.Example != nil {
		s += ": " + r.Example.String()
	}
	if r.Reason != "" {
		s += ": " + r.Reason + ": " + r.Instead
	}
	return s
}

// String returns both places in a sentence, with short digests.
func (c Change) String() string {
	short := regexp.MustCompile(`(sha256:[0-9a-f]{6})[0-9a-f]+`)
	before := "was pulled from " + c.Before
	if c.Before == blocked {
		before = "was blocked"
	}
	return short.ReplaceAllString(c.Image+" "+before+" and is pulled from "+c.After+" with the policy", "$1…")
}

// Report is the result of an import. Its JSON is an interface.
type Report struct {
	Rows    []Result `json:"rows"`
	Checked int      `json:"checkedImages"`
	Changes []Change `json:"changedImages"` // of the checked images
}

// Report returns the report of the import, with the images among those to check that are pulled from another place.
func (x *Importer) Report(images []string) *Report {
	r := &Report{Rows: x.results, Checked: len(images), Changes: []Change{}}
	for _, image := range images {
		if change, _ := x.Change(image); change != nil {
			r.Changes = append(r.Changes, *change)
		}
	}
	return r
}

// IsExact reports whether all rows are exact and no checked image changes.
func (r *Report) IsExact() bool {
	return len(r.Changes) == 0 && !slices.ContainsFunc(r.Rows, func(r Result) bool { return r.Verdict != Exact })
}

// WriteText implements output.Report.
func (r *Report) WriteText(p *output.Printer) {
	counts := map[Verdict]int{}
	for _, row := range r.Rows {
		counts[row.Verdict]++
		p.Line("%s", oneLine(row.String()))
		for _, note := range row.Notes {
			p.Line("  note: %s", oneLine(note))
		}
	}
	p.Line("%s: %d exact, %d different, %d that cannot be imported", text.Count(len(r.Rows), "row"), counts[Exact],
		counts[Differs], counts[Cannot])
	for _, c := range r.Changes {
		p.Line("%s", oneLine(c.String()))
	}
	if r.Checked > 0 {
		p.Line("%s checked, %s pulled from another place", text.Count(r.Checked, "image"), text.Thousands(len(r.Changes)))
	}
}
