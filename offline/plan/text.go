package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
)

// WriteText writes the report for users: first the counts, then the objects.
func (r *Report) WriteText(p *output.Printer) {
	r.writeSummary(p)
	columns := make([]output.Column, numKinds)
	for i, k := range kinds() {
		columns[i].Head, columns[i].Tone = k.words()
	}
	p.Numbers("by rule", columns, numbers(r.Rules), r.MoreRules)
	p.Numbers("by namespace", columns, numbers(r.Namespaces), r.MoreNamespaces)
	r.writeDuplicates(p)
	p.Section()
	r.writeNotes(p)
	var last Kind
	for i := range r.Objects {
		o := &r.Objects[i]
		if kind := o.Changes[0]; kind != last {
			last = kind
			words, _ := kind.words()
			p.Section()
			p.Line("%s", p.Paint(text.Colors.Head, words))
		}
		o.writeText(p)
	}
	if r.MoreObjects > 0 {
		p.Section()
		p.Line("and %s: --all lists all", text.Count(r.MoreObjects, "more object"))
	}
}

// numbers returns rows for a table.
func numbers(rows []Row) []output.Row {
	all := make([]output.Row, len(rows))
	for i := range rows {
		all[i] = output.Row{Name: rows[i].Name, Numbers: rows[i].Changes[:]}
	}
	return all
}

// writeSummary writes the number of objects, and a line for each kind of change that occurs.
func (r *Report) writeSummary(p *output.Printer) {
	old := "no policy"
	if r.Old != nil {
		old = "policy " + r.Old.Hash
	}
	s := &r.Summary
	p.Line("%s", p.Paint(text.Colors.Head, fmt.Sprintf("%s validated against %s and policy %s",
		text.Count(s.Validated, "object"), old, r.New.Hash)))
	var rows [][]output.Cell
	row := func(n int, what string, tone output.Tone) {
		if n > 0 {
			rows = append(rows, []output.Cell{{}, output.Number(n, tone), {Text: what}})
		}
	}
	for i, k := range kinds() {
		words, tone := k.words()
		row(s.Changes[i], words, tone)
	}
	row(s.Unchanged, "unchanged", nil)
	p.Table(rows, nil)
}

func (r *Report) writeDuplicates(p *output.Printer) {
	if !r.hasDuplicates() {
		return
	}
	p.Section()
	p.Line("%s", p.Paint(text.Colors.Head, "new duplicates"))
	for i := range r.Duplicates {
		d := &r.Duplicates[i]
		f := &d.Findings[0]
		p.Item("  ", f.Effect.Tone(), string(f.Effect), offline.Reference(d.Kind, d.Namespace, d.Name)+": "+f.String())
	}
	if r.MoreDuplicates > 0 {
		p.Line("and %s: --all lists all", text.Count(r.MoreDuplicates, "more duplicate"))
	}
}

// writeNotes writes warnings about the counts, and the objects that were left out.
func (r *Report) writeNotes(p *output.Printer) {
	s := &r.Summary
	note := func(n int, of, more string) {
		if n > 0 {
			p.Note(text.Colors.Warn, "note:", of+": "+text.Thousands(n)+more)
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
	for _, w := range r.Warnings {
		p.Note(text.Colors.Warn, "warning:", w.String())
	}
	if left := output.List(
		output.Some(s.MirrorPods, text.Plural(s.MirrorPods, "mirror Pod")),
		output.Some(s.EndedPods, text.Plural(s.EndedPods, "Pod")+" that ended"),
		output.Some(s.EndedWorkloads, text.Plural(s.EndedWorkloads, "workload")+" without further Pods"),
	); left != "" {
		p.Line("left out: %s", left)
	}
	for _, line := range r.Lines() {
		p.Line("%s", line)
	}
	if s.Errors > 0 {
		p.Line("%s", p.Paint(text.Colors.Bad, text.Count(s.Errors, "error")+" in the input"))
	}
}

func (o *Object) writeText(p *output.Printer) {
	const indent = "    "
	p.Line("  %s", o.String())
	for i := range o.Findings {
		f := &o.Findings[i]
		line := f.String()
		if f.Was != "" {
			line += "; before: " + string(f.Was)
		}
		p.Item(indent, f.tone(), f.sign()+" "+string(f.Effect), line)
	}
	if o.MoreFindings > 0 {
		p.Line(indent+"and %s", text.Count(o.MoreFindings, "more finding"))
	}
	for i := range o.Images {
		p.Item(indent, text.Colors.Note, "image", o.Images[i].String())
	}
	if o.MoreImages > 0 {
		p.Line(indent+"and %s", text.Count(o.MoreImages, "more image"))
	}
}

// String returns the name and the place of the object, the objects that it represents, and both decisions.
func (o *Object) String() string {
	s := offline.Reference(o.Kind, o.Namespace, o.Name) + " (" + o.Source + ")"
	if kind, name, owned := strings.Cut(o.Owner, "/"); o.Count > 1 && owned {
		s += " and " + text.Thousands(o.Count-1) + " more of " + text.Name(kind) + " " + text.Name(name)
	} else if o.Count > 1 {
		s += ", " + text.Thousands(o.Count) + " times"
	}
	if o.FromRecord {
		s += ", by its record"
	}
	s += ": "
	if o.Old != o.New {
		s += word(o.Old) + " → "
	}
	return s + word(o.New) + o.Request.text()
}

// text returns the details of a request, or an empty string if r is nil.
func (r *Request) text() string {
	if r == nil {
		return ""
	}
	s := "; " + r.Verb + " by " + text.Name(r.User)
	if r.Failed {
		s += ", failed with " + strconv.Itoa(r.Code)
	}
	if r.DryRun {
		s += ", dry run"
	}
	return s
}

// word returns the words for a decision in texts.
func word(d offline.Decision) string {
	switch d {
	case offline.PodsDenied:
		return "its Pods denied"
	case Audited:
		return "allowed, with audit findings"
	case Warned:
		return "allowed with a warning"
	default:
		return string(d)
	}
}

// sign returns the sign before a finding, as in a diff.
func (f *Finding) sign() string {
	switch f.Change {
	case Added:
		return "+"
	case Removed:
		return "-"
	default:
		return "~"
	}
}

// tone returns the color of a finding. Removed and less severe findings are good.
func (f *Finding) tone() output.Tone {
	if f.Change == Removed || f.Change == Changed && levelOfRemark(&f.Finding) < f.was {
		return text.Colors.Good
	}
	return f.Effect.Tone()
}

// String returns the sentence about the image.
func (i *Image) String() string {
	s := i.Path + ": " + i.Image + " → " + i.New + by(i.NewEntry, i.NewSecret)
	if i.Old != i.Image || i.OldSecret != "" {
		s += ", and not " + i.Old + by(i.OldEntry, i.OldSecret)
	}
	return s
}

// by returns the entry that rewrites an image and its pull secret, in parentheses.
func by(entry, secret string) string {
	switch {
	case entry == "":
		return ""
	case secret == "":
		return " (" + entry + ")"
	default:
		return " (" + entry + ", pull secret " + secret + ")"
	}
}
