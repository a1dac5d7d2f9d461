package plan

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
)

// tableRows is the number of rows of a table that are written. They fit on a screen.
const tableRows = 20

// TextOptions contains options for the text of a report.
type TextOptions struct {
	Colors text.Colors
	All    bool // all rows of the tables
}

// Write writes the report as text without colors, or as one document in another format.
func (r *Report) Write(w io.Writer, f output.Format) error {
	if f == output.Text {
		return r.WriteText(w, TextOptions{})
	}
	return output.Encode(w, f, r)
}

// WriteText writes the report for users with a single Write: first the counts, then the objects.
func (r *Report) WriteText(to io.Writer, o TextOptions) error {
	w := textWriter{colors: o.Colors}
	w.summary(r)
	rows := tableRows
	if o.All {
		rows = maxRows
	}
	w.table("by rule", r.Rules, r.MoreRules, rows)
	w.table("by namespace", namespaces(r.Namespaces), r.MoreNamespaces, rows)
	w.notes(r)
	w.objects(r)
	_, err := to.Write(w.Bytes())
	return err
}

// textWriter writes text for users.
type textWriter struct {
	bytes.Buffer
	colors text.Colors
}

// color returns the color of a kind of change.
func (k Kind) color(c text.Colors) func(string) string {
	switch k {
	case NewlyDenied, PodsNewlyDenied:
		return c.Bad
	case NewlyWarned:
		return c.Warn
	case NewlyAllowed, PodsNoLongerDenied, NoLongerWarned:
		return c.Good
	default:
		return c.Note
	}
}

// summary writes the number of objects, and a line for each kind of change that occurs.
func (w *textWriter) summary(r *Report) {
	old := "no policy"
	if r.Old != nil {
		old = "policy " + r.Old.Hash
	}
	s := &r.Summary
	w.WriteString(w.colors.Head(objects(s.Validated)+" validated against "+old+" and policy "+r.New.Hash) + "\n")
	line := func(n int, what string, color func(string) string) {
		if n > 0 {
			fmt.Fprintf(w, "  %s  %s\n", color(fmt.Sprintf("%9s", text.Thousands(n))), what)
		}
	}
	for _, k := range kinds() {
		line(s.Changes.Of(k), k.String(), k.color(w.colors))
	}
	if s.Validated > 0 {
		line(s.Unchanged, "unchanged", func(s string) string { return s })
	}
}

// table writes a row for each name, and a column for each kind of change that occurs.
func (w *textWriter) table(title string, rows []Row, more, most int) {
	if len(rows) == 0 {
		return
	}
	if len(rows) > most {
		rows, more = rows[:most], more+len(rows)-most
	}
	var all Counts
	width := len(title)
	for i := range rows {
		all.addAll(&rows[i].Changes)
		width = max(width, len(rows[i].Name)+len("  "))
	}
	heading := []string{fmt.Sprintf("%-*s", width, title)}
	for _, k := range kinds() {
		if all.Of(k) > 0 {
			heading = append(heading, k.String())
		}
	}
	w.WriteString("\n" + w.colors.Head(strings.Join(heading, "  ")) + "\n")
	for i := range rows {
		fmt.Fprintf(w, "  %-*s", width-len("  "), rows[i].Name)
		for _, k := range kinds() {
			if all.Of(k) > 0 {
				w.WriteString("  " + cell(rows[i].Changes.Of(k), len(k.String()), k.color(w.colors)))
			}
		}
		w.WriteString("\n")
	}
	if more > 0 {
		fmt.Fprintf(w, "  and %s more\n", text.Thousands(more))
	}
}

// namespaces returns rows with printable names, because the input may contain any name.
func namespaces(rows []Row) []Row {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Name = text.Name(rows[i].Name)
	}
	return rows
}

// cell returns a right-aligned number, in a color unless it is 0.
func cell(n, width int, color func(string) string) string {
	s := fmt.Sprintf("%*s", width, text.Thousands(n))
	if n == 0 {
		return s
	}
	return color(s)
}

// notes writes warnings about the counts, and the objects that were left out.
func (w *textWriter) notes(r *Report) {
	var b bytes.Buffer
	s := &r.Summary
	note := func(n int, of, more string) {
		if n > 0 {
			fmt.Fprintf(&b, "%s %s: %s%s\n", w.colors.Warn("note:"), of, text.Thousands(n), more)
		}
	}
	if r.fromRecord {
		note(s.RecordedPods, "Pods validated with the original images in their annotation, which tenants may write",
			"; do not trust the result")
		note(s.StaleRecords, "Pods whose annotation has original images that do not belong to their images",
			"; these are ignored")
	} else {
		note(s.RecordedPods, "Pods that were already rewritten, validated with their current images",
			"; --from-record validates their original images, as if the Pods were created again")
	}
	note(s.NoNamespace, "objects without a namespace, validated in the namespace default", "; set the namespace with -n")
	note(s.Updates, "requests that updated an object, validated as if they created it",
		"; the log does not contain the old object, and findings that existed before would only warn")
	note(s.Failed, "requests that failed at the time", "")
	note(s.DryRun, "dry runs", "")
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "%s %s\n", w.colors.Warn("warning:"), warning.text())
	}
	if s.MirrorPods > 0 {
		fmt.Fprintf(&b, "left out: %s\n", count(s.MirrorPods, "mirror Pod"))
	}
	if s.EndedPods > 0 {
		fmt.Fprintf(&b, "left out: %s that ended\n", count(s.EndedPods, "Pod"))
	}
	if s.EndedWorkloads > 0 {
		fmt.Fprintf(&b, "left out: %s without further Pods\n", count(s.EndedWorkloads, "workload"))
	}
	for _, line := range offline.SkipLines(r.Skipped, r.SkippedFiles) {
		b.WriteString(line + "\n")
	}
	if len(r.NotServed) > 0 {
		b.WriteString("not served: " + text.ListUpTo(len(r.NotServed), r.NotServed) + "\n")
	}
	if s.Errors > 0 {
		b.WriteString(w.colors.Bad(count(s.Errors, "error")+" in the input") + "\n")
	}
	if b.Len() > 0 {
		w.WriteString("\n" + b.String())
	}
}

// objects writes the objects in the report, by their kinds of change.
func (w *textWriter) objects(r *Report) {
	var last Kind
	for i := range r.Objects {
		o := &r.Objects[i]
		if kind := o.Changes[0]; kind != last {
			last = kind
			w.WriteString("\n" + w.colors.Head(kind.String()) + "\n")
		}
		w.object(o, "  ")
	}
	if r.MoreObjects > 0 {
		fmt.Fprintf(w, "\nand %s: --all lists all\n", count(r.MoreObjects, "more object"))
	}
}

// object writes an object and its changes. before is written at the beginning of its line.
func (w *textWriter) object(o *Object, before string) {
	w.WriteString(before + o.text() + "\n")
	for i := range o.Findings {
		f := &o.Findings[i]
		fmt.Fprintf(w, "    %s  %s\n", f.color(w.colors)(fmt.Sprintf("%s %-9s", f.sign(), f.Effect)), f.text())
	}
	if o.MoreFindings > 0 {
		fmt.Fprintf(w, "    and %s\n", count(o.MoreFindings, "more finding"))
	}
	for i := range o.Images {
		fmt.Fprintf(w, "    %s  %s\n", w.colors.Note(fmt.Sprintf("%-11s", "image")), o.Images[i].text())
	}
	if o.MoreImages > 0 {
		fmt.Fprintf(w, "    and %s\n", count(o.MoreImages, "more image"))
	}
}
