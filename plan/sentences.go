package plan

import (
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
)

// text returns the warning with its place, as policy check writes it.
func (w Warning) text() string {
	s := ""
	if w.File != "" {
		s = w.File + ":"
		if w.Line > 0 {
			s += strconv.Itoa(w.Line) + ":" + strconv.Itoa(w.Column) + ":"
		}
		s += " "
	}
	if w.Path != "" {
		s += w.Path + ": "
	}
	return s + w.Message
}

// sign returns what stands before a finding, as in a diff.
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

// text returns the sentence of a finding, and what became of it under the old policy.
func (f *Finding) text() string {
	s := f.String()
	if f.Was != "" {
		s += "; before: " + string(f.Was)
	}
	return s
}

// color returns the color of a finding: what is gone, or less severe, is good.
func (f *Finding) color(c text.Colors) func(string) string {
	switch {
	case f.Change == Removed, f.Change == Changed && levelOfRemark(&f.Finding) < f.was:
		return c.Good
	case f.Effect == offline.Denial:
		return c.Bad
	case f.Effect == offline.Warning:
		return c.Warn
	default:
		return c.Note
	}
}

// text returns the line of an object: what it is, where it stands, what it stands for, and both decisions.
func (o *Object) text() string {
	s := text.Name(o.Kind)
	switch {
	case o.Name == "":
		s += " in " + text.Name(o.Namespace)
	case o.Namespace == "":
		s += " " + text.Name(o.Name)
	default:
		s += " " + text.Name(o.Namespace) + "/" + text.Name(o.Name)
	}
	s += " (" + o.Source + ")"
	if o.Count > 1 {
		s += o.more()
	}
	if o.FromRecord {
		s += ", by its record"
	}
	if o.Old != o.New {
		s += ": " + word(o.Old) + " → " + word(o.New)
	} else {
		s += ": " + word(o.New)
	}
	return s + o.Request.text()
}

// more says which further objects the object stands for.
func (o *Object) more() string {
	if kind, name, owned := strings.Cut(o.Owner, "/"); owned {
		return " and " + text.Thousands(o.Count-1) + " more of " + text.Name(kind) + " " + text.Name(name)
	}
	return ", " + text.Thousands(o.Count) + " times"
}

// text returns what there is to know of a request beside its object; empty for nil.
func (r *Request) text() string {
	if r == nil {
		return ""
	}
	s := "; " + r.Verb + " by " + text.Name(r.User)
	if r.Refused {
		s += ", refused with " + strconv.Itoa(r.Code)
	}
	if r.DryRun {
		s += ", dry run"
	}
	return s
}

// word returns a decision as texts have it.
func word(d offline.Decision) string {
	switch d {
	case offline.PodsRefused:
		return "its Pods refused"
	case Audited:
		return "allowed, with findings in audit"
	case Warned:
		return "allowed with a warning"
	default:
		return string(d)
	}
}

// text returns the sentence about an image.
func (i *Image) text() string {
	s := i.Path + ": " + i.Image + " → " + i.New + by(i.NewEntry, i.NewSecret)
	if i.Old != i.Image || i.OldSecret != "" {
		s += ", and not " + i.Old + by(i.OldEntry, i.OldSecret)
	}
	return s
}

// by returns what rewrites an image, in parentheses.
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

func objects(n int) string { return count(n, "object") }

func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return text.Thousands(n) + " " + thing
}
