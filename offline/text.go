package offline

import (
	"fmt"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

const noNamespace = "objects without a namespace, validated in the namespace default: %s; set the namespace with -n"

// WriteText writes the report for users: the objects with their findings, images and rules, tables of the counts of an
// audit, and a summary.
func (r *Report) WriteText(p *output.Printer) {
	listed, more, namespace := 0, 0, ""
	for i := range r.Results {
		switch result := &r.Results[i]; {
		case p.OnlyFailures && result.Decision == Allowed && !result.has(Duplicate) && (!p.FailOnWarnings || !result.Warns()),
			r.AsExisting && !r.explain && result.isExempt():
		case r.AsExisting && p.Limit > 0 && listed == p.Limit:
			more++
		default:
			if r.AsExisting && (listed == 0 || namespace != result.Namespace) {
				namespace = result.Namespace
				p.Line("%s", p.Paint(text.Colors.Head, "namespace "+text.Name(namespace)))
			}
			listed++
			result.writeText(p, r.AsExisting, r.explain)
		}
	}
	if more > 0 {
		p.Line("and %s: --limit 0 lists all", text.Count(more, "more object"))
	}
	if r.AsExisting {
		r.Counts.writeText(p)
	}
	p.Section()
	if !p.OnlyFailures {
		for _, line := range r.Lines() {
			p.Line("%s", line)
		}
	}
	if n := r.Summary.NoNamespace; n > 0 {
		p.Note(text.Colors.Warn, "note:", fmt.Sprintf(noNamespace, text.Thousands(n)))
	}
	p.Line("%s validated against policy %s%s", text.Count(r.Summary.Validated, "object"), r.Policy.Hash,
		r.Summary.text(r.AsExisting))
}

// isExempt reports whether the object has only exempt findings.
func (r *Result) isExempt() bool {
	return len(r.Images) == 0 && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Effect != Exempt })
}

func (r *Result) writeText(p *output.Printer, exists, explain bool) {
	indent, heading := "", Reference(r.Kind, r.Namespace, r.Name)+" ("+r.Source+")"
	if exists {
		indent, heading = "  ", "  "+Reference(r.Kind, "", r.Name)
		if r.Pods > 0 && r.Kind != "Pod" {
			heading += " (" + text.Count(r.Pods, "Pod") + ")"
		}
	}
	decision, tone := string(r.Decision), text.Colors.Good
	switch {
	case r.Decision == Denied:
		tone = text.Colors.Bad
	case r.Decision == PodsDenied:
		decision, tone = "its Pods will be denied", text.Colors.Bad
	case r.Warns():
		tone = text.Colors.Warn
	}
	p.Line("%s: %s", heading, p.Paint(tone, decision))
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Effect != Exempt || explain {
			p.Item(indent+"  ", f.Effect.Tone(), string(f.Effect), f.String())
		}
	}
	for i := range r.Images {
		label, line := r.Images[i].text(explain)
		p.Item(indent+"  ", Effect(label).Tone(), label, line)
	}
	for i := range r.Rules {
		p.Item(indent+"  ", nil, "rule", r.Rules[i].text())
	}
}

// Tone returns the color of an effect, or of the outcome of an image.
func (e Effect) Tone() output.Tone {
	switch e {
	case Denial, Duplicate:
		return text.Colors.Bad
	case Warning:
		return text.Colors.Warn
	case Effect(policy.Rewritten.String()):
		return text.Colors.Good
	case Audited, Exempt, outside:
		return text.Colors.Note
	}
	return nil
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

// String returns the sentence that users read.
func (i *Image) String() string {
	_, s := i.text(false)
	return s
}

// text returns the outcome or the effect of the image as a label, and the sentence about it.
func (i *Image) text(explain bool) (label, s string) {
	s = i.Path + ": " + text.Name(i.Image)
	switch {
	case i.Outcome == policy.Rewritten.String():
		s += " → " + i.To + " (" + i.Entry
		if explain && i.PullSecret != "" {
			s += ", with pull secret " + i.PullSecret
		}
		return i.Outcome, s + ")"
	case i.Outcome == outside && i.To != "":
		return i.Outcome, s + " → " + i.To + " (" + i.Entry + ", " + i.Mode + ")"
	case i.Outcome == outside: // a rule denies it as it is written
		label = outside
	case i.Effect != "":
		label = string(i.Effect)
	case i.To != "":
		label = string(Audited)
	default:
		label = "image"
	}
	return label, s + ": " + i.Why
}

func (r *Rule) text() string {
	s := r.Rule + " (" + r.Mode + "): " + r.Why
	if r.Applies {
		s += ", " + text.Count(r.Findings, "finding")
		if r.Exempt > 0 {
			s += ", " + text.Thousands(r.Exempt) + " exempt"
		}
	}
	return s
}

func (s *Summary) text(exists bool) (line string) {
	denied, warned := "denied", "allowed with a warning"
	if exists {
		denied, warned = "would be denied now", "would get a warning"
	}
	for _, part := range []struct{ before, list string }{
		{": ", output.List(
			output.Some(s.Denied, denied),
			output.Some(s.PodsDenied, "whose Pods will be denied"),
			output.Some(s.Warned, warned),
			output.Some(s.Validated-s.Denied-s.PodsDenied-s.Warned, "allowed"),
		)},
		{"; ", output.List(output.Some(s.Duplicates, text.Plural(s.Duplicates, "duplicate")))},
		{"; ", output.List(
			output.Some(s.Rewritten, text.Plural(s.Rewritten, "image")+" rewritten"),
			output.Some(s.Outside, text.Plural(s.Outside, "image")+" outside the mirrors"),
		)},
		{"; left out: ", output.List(
			output.Some(s.MirrorPods, text.Plural(s.MirrorPods, "mirror Pod")),
			output.Some(s.EndedPods, text.Plural(s.EndedPods, "Pod")+" that ended"),
		)},
		{"; ", output.List(output.Some(s.Errors, text.Plural(s.Errors, "error")+" in the input"))},
	} {
		if part.list != "" {
			line += part.before + part.list
		}
	}
	return line
}

// writeText writes tables of the counts by rule and by namespace.
func (c *Counts) writeText(p *output.Printer) {
	columns := []output.Column{
		{Head: policy.Enforce.String(), Tone: text.Colors.Bad},
		{Head: policy.Warn.String(), Tone: text.Colors.Warn},
		{Head: policy.Audit.String(), Tone: text.Colors.Note},
		{Head: outside, Tone: text.Colors.Note},
		{Head: policy.ExemptWord, Tone: text.Colors.Note},
	}
	rules, namespaces := output.NewTally(len(columns)), output.NewTally(len(columns))
	add := func(rule, namespace, word string, n int) {
		column := slices.IndexFunc(columns, func(c output.Column) bool { return c.Head == word })
		rules.Add(rule, column, n)
		namespaces.Add(namespace, column, n)
	}
	for k, n := range c.Findings {
		add(k.Rule+"/"+k.Check, k.Namespace, k.Mode, n)
	}
	for k, n := range c.Images {
		if k.Outcome == outside {
			add("mirrors entry "+k.Entry, k.Namespace, outside, n)
		}
	}
	p.Numbers("by rule", columns, rules.Rows(), 0)
	p.Numbers("by namespace", columns, namespaces.Rows(), 0)
}
