package plan

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
)

// Duplicate is a value that two objects claim, according to the unique block of the new policy. The old policy does not
// find it with the same effect.
type Duplicate struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	offline.Finding
}

// addDuplicates adds the duplicates that the new policy introduces, at most the given number, to the report. It does
// not add exempt duplicates.
func (r *Report) addDuplicates(old, new *offline.Duplicates, limit int) {
	known := map[Duplicate]bool{}
	for of, f := range old.All() {
		f.Mode, f.Message, f.Redacted, f.Note = "", "", "", ""
		known[Duplicate{of.Kind, of.Namespace, of.Name, f}] = true
	}
	r.Duplicates, r.MoreDuplicates = nil, 0
	for of, f := range new.All() {
		d := Duplicate{of.Kind, of.Namespace, of.Name, f}
		same := d
		same.Mode, same.Message, same.Redacted, same.Note = "", "", "", ""
		switch {
		case f.Effect == offline.Exempt || known[same]:
		case len(r.Duplicates) == limit:
			r.MoreDuplicates++
		default:
			r.Duplicates = append(r.Duplicates, d)
		}
	}
}

// writeDuplicates writes the duplicates.
func (r *Report) writeDuplicates(p *output.Printer) {
	if len(r.Duplicates)+r.MoreDuplicates == 0 {
		return
	}
	p.Section()
	p.Line("%s", p.Paint(text.Colors.Head, "new duplicates"))
	for i := range r.Duplicates {
		d := &r.Duplicates[i]
		p.Item("  ", d.Effect.Tone(), string(d.Effect), offline.Reference(d.Kind, d.Namespace, d.Name)+": "+d.String())
	}
	if r.MoreDuplicates > 0 {
		p.Line("and %s: --all lists all", text.Count(r.MoreDuplicates, "more duplicate"))
	}
}
