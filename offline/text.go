package offline

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// textWriter writes a report for users: a heading for each object, under it a line for each finding, image and rule,
// and a summary.
type textWriter struct {
	bytes.Buffer
	indent string
}

func (r *Report) text() []byte {
	var w textWriter
	for i := range r.Results {
		result := &r.Results[i]
		if r.AsExisting {
			if i == 0 || r.Results[i-1].Namespace != result.Namespace {
				w.WriteString("namespace " + text.Name(result.Namespace) + "\n")
			}
			w.indent = "  "
		}
		w.result(result, r.AsExisting)
	}
	if len(r.Results) > 0 {
		w.WriteString("\n")
	}
	judged := count(r.Summary.Judged, "object") + " judged by policy " + r.Policy.Hash
	w.WriteString(judged + r.Summary.text(r.AsExisting) + "\n")
	for _, s := range r.Skipped {
		w.WriteString("skipped: " + s.text() + "\n")
	}
	if len(r.NotServed) > 0 {
		w.WriteString("not served: " + text.ListUpTo(len(r.NotServed), r.NotServed) + "\n")
	}
	return w.Bytes()
}

func (w *textWriter) result(r *Result, exists bool) {
	w.WriteString(w.indent)
	if exists {
		w.WriteString(reference(r.Kind, "", r.Name))
		if r.Pods > 0 && r.Kind != "Pod" {
			w.WriteString(" (" + count(r.Pods, "Pod") + ")")
		}
	} else {
		w.WriteString(reference(r.Kind, r.Namespace, r.Name) + " (" + r.Source + ")")
	}
	w.WriteString(": " + string(r.Decision) + "\n")
	for _, f := range r.Findings {
		w.line(string(f.Effect), f.text())
	}
	for _, i := range r.Images {
		w.line(i.label(), i.text())
	}
	for _, rule := range r.Rules {
		w.line("rule", rule.text())
	}
}

// line writes a line under a heading. The longest label, rewritten, has nine letters.
func (w *textWriter) line(label, text string) {
	fmt.Fprintf(w, "%s  %-9s  %s\n", w.indent, label, text)
}

// text is the sentence that a cluster's users read, see policy.Finding.
func (f *Finding) text() string {
	s := f.ID + ": "
	if f.Path != "" {
		s += f.Path + ": "
	}
	s += f.Message
	if f.Note != "" {
		s += " (" + f.Note + ")"
	}
	if f.Existed {
		s += " (it was so before this update)"
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

func (i *Image) text() string {
	s := i.Path + ": " + text.Name(i.Image)
	switch i.label() {
	case policy.Rewritten.String():
		return s + " → " + i.To + " (" + i.Entry + ")"
	case outside:
		return s + " → " + i.To + " (" + i.Entry + ", " + i.Mode + ")"
	}
	return s + ": " + i.Why
}

func (r *Rule) text() string {
	s := r.Rule + " (" + r.Mode + "): " + r.Why
	if r.Applies {
		s += ", " + count(r.Findings, "finding")
	}
	return s
}

func (s *Summary) text(exists bool) string {
	denied, warned := "denied", "allowed with a warning"
	if exists {
		denied, warned = "would be denied now", "would be warned of"
	}
	decisions := tally(
		counted{s.Denied, denied},
		counted{s.Warned, warned},
		counted{s.Judged - s.Denied - s.Warned, "allowed"},
	)
	images := tally(
		counted{s.Rewritten, plural(s.Rewritten, "image") + " rewritten"},
		counted{s.Outside, plural(s.Outside, "image") + " outside the mirrors"},
	)
	left := tally(
		counted{s.MirrorPods, plural(s.MirrorPods, "mirror Pod")},
		counted{s.EndedPods, plural(s.EndedPods, "Pod") + " that ended"},
	)
	var text strings.Builder
	for _, part := range []struct{ before, tally string }{
		{": ", decisions},
		{"; ", images},
		{"; left out: ", left},
		{"; ", tally(counted{s.Errors, plural(s.Errors, "error") + " in the input"})},
	} {
		if part.tally != "" {
			text.WriteString(part.before + part.tally)
		}
	}
	return text.String()
}

// counted is a number and what it counts.
type counted struct {
	n    int
	what string
}

// tally lists what there is.
func tally(all ...counted) string {
	var parts []string
	for _, c := range all {
		if c.n > 0 {
			parts = append(parts, strconv.Itoa(c.n)+" "+c.what)
		}
	}
	return strings.Join(parts, ", ")
}

func (s *Skipped) text() string {
	return text.Name(s.Kind) + " " + text.AndMore(s.Names, s.Count-len(s.Names)) + " (" + s.Why + ")"
}

func count(n int, thing string) string { return strconv.Itoa(n) + " " + plural(n, thing) }

func plural(n int, thing string) string {
	if n == 1 {
		return thing
	}
	return thing + "s"
}
