package plan

import (
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
)

// text returns the warning with its place, in the format of policy check.
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

// text returns the sentence of a finding, with its effect under the old policy if that has changed.
func (f *Finding) text() string {
	s := f.String()
	if f.Was != "" {
		s += "; before: " + string(f.Was)
	}
	return s
}

// color returns the color of a finding. Removed and less severe findings are good.
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

// text returns the line for an object: its name and place, the objects that it represents, and both decisions.
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

// more returns a text about the further objects that this object represents.
func (o *Object) more() string {
	if kind, name, owned := strings.Cut(o.Owner, "/"); owned {
		return " and " + text.Thousands(o.Count-1) + " more of " + text.Name(kind) + " " + text.Name(name)
	}
	return ", " + text.Thousands(o.Count) + " times"
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

// text returns the sentence about an image.
func (i *Image) text() string {
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

func objects(n int) string { return count(n, "object") }

func count(n int, thing string) string {
	return text.Thousands(n) + " " + text.Plural(n, thing)
}
