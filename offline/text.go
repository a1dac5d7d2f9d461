package offline

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// textWriter writes a report for users. It contains a heading for each object, a line for each of its findings,
// images and rules, and a summary.
type textWriter struct {
	bytes.Buffer
	indent  string
	colors  text.Colors
	explain bool
}

// TextOptions contains options for the text of a report.
type TextOptions struct {
	Colors       text.Colors
	OnlyFailures bool // list only objects that are denied or whose Pods are denied; do not list skipped objects
	Warnings     bool // with OnlyFailures, also list objects with warnings
	Limit        int  // the maximum number of objects; if it is not 0, tables are cut short too
}

// lists reports whether an object is listed.
func (o TextOptions) lists(r *Result) bool {
	return !o.OnlyFailures || r.Decision != Allowed || o.Warnings && r.Warns()
}

const noNamespace = " objects without a namespace, validated in the namespace default: %d; set the namespace with -n\n"

// WriteText writes the report for users with a single Write.
func (r *Report) WriteText(to io.Writer, o TextOptions) error {
	_, err := to.Write(r.text(o))
	return err
}

func (r *Report) text(o TextOptions) []byte {
	w := textWriter{colors: o.Colors, explain: r.explain}
	listed, more, namespace := 0, 0, ""
	for i := range r.Results {
		result := &r.Results[i]
		if !o.lists(result) || r.AsExisting && !r.explain && result.isExempt() {
			continue
		}
		if o.Limit > 0 && listed == o.Limit {
			more++
			continue
		}
		if r.AsExisting {
			if listed == 0 || namespace != result.Namespace {
				namespace = result.Namespace
				w.WriteString(w.colors.Head("namespace "+text.Name(namespace)) + "\n")
			}
			w.indent = "  "
		}
		listed++
		w.result(result, r.AsExisting)
	}
	if more > 0 {
		fmt.Fprintf(&w, "and %s more objects: --limit 0 lists all\n", text.Thousands(more))
	}
	if listed > 0 {
		w.WriteString("\n")
	}
	if r.AsExisting {
		w.tables(&r.Counts, o.Limit == 0)
	}
	if !o.OnlyFailures {
		for _, line := range SkipLines(r.Skipped, r.SkippedFiles) {
			w.WriteString(line + "\n")
		}
	}
	if len(r.NotServed) > 0 {
		w.WriteString("not served: " + text.ListUpTo(len(r.NotServed), r.NotServed) + "\n")
	}
	if r.Summary.NoNamespace > 0 {
		w.WriteString(w.colors.Warn("note:") + fmt.Sprintf(noNamespace, r.Summary.NoNamespace))
	}
	validated := text.Count(r.Summary.Validated, "object") + " validated against policy " + r.Policy.Hash
	w.WriteString(validated + r.Summary.text(r.AsExisting) + "\n")
	return w.Bytes()
}

func (w *textWriter) result(r *Result, exists bool) {
	w.WriteString(w.indent)
	if exists {
		w.WriteString(reference(r.Kind, "", r.Name))
		if r.Pods > 0 && r.Kind != "Pod" {
			w.WriteString(" (" + text.Count(r.Pods, "Pod") + ")")
		}
	} else {
		w.WriteString(reference(r.Kind, r.Namespace, r.Name) + " (" + r.Source + ")")
	}
	decision := string(r.Decision)
	switch {
	case r.Decision == Denied:
		decision = w.colors.Bad(decision)
	case r.Decision == PodsDenied:
		decision = w.colors.Bad("its Pods will be denied")
	case r.Warns():
		decision = w.colors.Warn(decision)
	default:
		decision = w.colors.Good(decision)
	}
	w.WriteString(": " + decision + "\n")
	for _, f := range r.Findings {
		if f.Effect != Exempt || w.explain {
			w.line(string(f.Effect), f.String())
		}
	}
	for _, i := range r.Images {
		w.line(i.label(), i.text(w.explain))
	}
	for _, rule := range r.Rules {
		w.line("rule", rule.text())
	}
}

// isExempt reports whether the object has only exempt findings.
func (r *Result) isExempt() bool {
	return len(r.Images) == 0 && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Effect != Exempt })
}

// line writes a line under a heading. The longest label, rewritten, has nine letters.
func (w *textWriter) line(label, text string) {
	color := func(s string) string { return s }
	switch label {
	case string(Denial):
		color = w.colors.Bad
	case string(Warning):
		color = w.colors.Warn
	case policy.Rewritten.String():
		color = w.colors.Good
	case string(Audited), string(Exempt), outside:
		color = w.colors.Note
	}
	fmt.Fprintf(w, "%s  %s  %s\n", w.indent, color(fmt.Sprintf("%-9s", label)), text)
}

// String returns the sentence that users of a cluster read. See policy.Finding.
func (f *Finding) String() string {
	s := f.ID + ": "
	if f.Path != "" {
		s += f.Path + ": "
	}
	s += f.Message
	if f.Note != "" {
		s += " (" + f.Note + ")"
	}
	if f.Existed {
		s += " (this existed before the update)"
	}
	if f.ExemptBy != "" {
		s += " (exempt until " + f.ExemptUntil + " by " + f.ExemptBy
		if f.ExemptReason != "" {
			s += ": " + f.ExemptReason
		}
		s += ")"
	}
	return s
}

func (i *Image) label() string {
	switch {
	case i.Outcome == policy.Rewritten.String(), i.Outcome == outside:
		return i.Outcome
	case i.Effect != "":
		return string(i.Effect)
	case i.To != "":
		return string(Audited)
	default:
		return "image"
	}
}

func (i *Image) text(explain bool) string {
	s := i.Path + ": " + text.Name(i.Image)
	switch i.label() {
	case policy.Rewritten.String():
		s += " → " + i.To + " (" + i.Entry
		if explain && i.PullSecret != "" {
			s += ", with pull secret " + i.PullSecret
		}
		return s + ")"
	case outside:
		if i.To == "" { // a rule denies it as it is written
			return s + ": " + i.Why
		}
		return s + " → " + i.To + " (" + i.Entry + ", " + i.Mode + ")"
	}
	return s + ": " + i.Why
}

func (r *Rule) text() string {
	s := r.Rule + " (" + r.Mode + "): " + r.Why
	if r.Applies {
		s += ", " + text.Count(r.Findings, "finding")
		if r.Exempt > 0 {
			s += ", " + strconv.Itoa(r.Exempt) + " exempt"
		}
	}
	return s
}

func (s *Summary) text(exists bool) string {
	denied, warned := "denied", "allowed with a warning"
	if exists {
		denied, warned = "would be denied now", "would get a warning"
	}
	decisions := tally(
		counted{s.Denied, denied},
		counted{s.PodsDenied, "whose Pods will be denied"},
		counted{s.Warned, warned},
		counted{s.Validated - s.Denied - s.PodsDenied - s.Warned, "allowed"},
	)
	images := tally(
		counted{s.Rewritten, text.Plural(s.Rewritten, "image") + " rewritten"},
		counted{s.Outside, text.Plural(s.Outside, "image") + " outside the mirrors"},
	)
	left := tally(
		counted{s.MirrorPods, text.Plural(s.MirrorPods, "mirror Pod")},
		counted{s.EndedPods, text.Plural(s.EndedPods, "Pod") + " that ended"},
	)
	var b strings.Builder
	for _, part := range []struct{ before, tally string }{
		{": ", decisions},
		{"; ", images},
		{"; left out: ", left},
		{"; ", tally(counted{s.Errors, text.Plural(s.Errors, "error") + " in the input"})},
	} {
		if part.tally != "" {
			b.WriteString(part.before + part.tally)
		}
	}
	return b.String()
}

// counted is a number and the thing that it counts.
type counted struct {
	n    int
	what string
}

// tally lists the numbers above 0.
func tally(all ...counted) string {
	var parts []string
	for _, c := range all {
		if c.n > 0 {
			parts = append(parts, strconv.Itoa(c.n)+" "+c.what)
		}
	}
	return strings.Join(parts, ", ")
}
