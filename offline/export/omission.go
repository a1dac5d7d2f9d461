package export

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

// Omission is a reason why entries, or a field of an entry, cannot be exported. There is one Omission for each reason,
// even if it affects several entries.
type Omission struct {
	Pos     policy.Position // the entry that causes it
	Field   string          // exclude.until; empty for the whole entry
	Why     string
	Instead string // what to do
	// Entries are the entries that are not exported, or not completely, because of it. An entry of exceptions causes an
	// omission, but is not in this list.
	Entries []policy.Entry

	entry *policy.Entry // the entry that causes it
	until string        // the date after which the reason no longer applies; empty if it does not end
	// last is the date after which all of Entries can be exported. It is empty if other reasons remain after every date.
	last string
}

// String returns the line for a report: file, line, column, field, reason, and what to do instead.
func (r Omission) String() string {
	path := r.Pos.Path
	if r.Field != "" {
		path += "." + r.Field
	}
	why := r.Why
	if others := r.others(); len(others) > 0 {
		also := ""
		if len(others) < len(r.Entries) {
			also = "also "
		}
		why += ", so the export " + also + "leaves out " + strings.Join(others, ", ")
	}
	return fmt.Sprintf("%s: %s: %s: %s", r.Pos, path, why, r.Instead)
}

// others lists the affected entries, except for the entry that causes the omission.
func (r *Omission) others() []string {
	var names []string
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Pos != r.Pos {
			names = append(names, nameOf(e))
		}
	}
	return names
}

// Of returns the reason why an entry is not exported completely. ok is false if the omission does not affect the entry.
func (r *Omission) Of(e *policy.Entry) (field, why string, ok bool) {
	if !slices.ContainsFunc(r.Entries, func(o policy.Entry) bool { return o.Pos == e.Pos }) {
		return "", "", false
	}
	if e.Pos != r.Pos {
		return "", nameOf(r.entry) + ": " + r.Why, true
	}
	return r.Field, r.Why, true
}

// nameOf returns the block and the name of an entry.
func nameOf(e *policy.Entry) string { return e.Block + " " + e.Name }

// native reports whether an entry is active and is exported.
func (x *exporter) native(e *policy.Entry) bool {
	return e.Mode != policy.Off && len(x.omitted[e.Name]) == 0
}

// nativeLater reports whether an active entry is exported, or only ends of other entries and of its exclude prevent
// the export.
func (x *exporter) nativeLater(e *policy.Entry) bool {
	return e.Mode != policy.Off && untilOf(e) == "" &&
		!slices.ContainsFunc(x.omitted[e.Name], func(r *Omission) bool { return r.ends() == "" })
}

// untilOf returns the end of an entry, or an empty string if it does not end.
func untilOf(e *policy.Entry) string {
	until, _ := e.Fields["until"].(string)
	return until
}

// ends returns the date after which the reason no longer applies, or an empty string if the reason does not end. An
// entry that has ended does not cause omissions.
func (r *Omission) ends() string { return cmp.Or(untilOf(r.entry), r.until) }

// findEnds sets the dates after which entries can be exported.
func (x *exporter) findEnds() {
	last := map[string]string{} // by the name of the entry
	for i := range x.entries {
		last[x.entries[i].Name] = x.lastEnd(&x.entries[i])
	}
	for _, r := range x.causes {
		if r.until == "" {
			continue
		}
		for i := range r.Entries {
			end := last[r.Entries[i].Name]
			if r.last = later(r.last, end); end == "" {
				r.last = ""
				break
			}
		}
		if r.last == "" {
			r.Instead += " (after " + r.when() + ")"
		} else {
			r.Instead = "after " + r.when() + ", or " + r.Instead
		}
	}
}

// lastEnd returns the date after which an entry can be exported, or an empty string if a reason does not end.
func (x *exporter) lastEnd(e *policy.Entry) string {
	last := untilOf(e)
	if last != "" {
		return last
	}
	for _, r := range slices.Concat(x.omitted[e.Name], x.partial[e.Name]) {
		end := r.ends()
		if end == "" {
			return ""
		}
		last = later(last, end)
	}
	return last
}

// later returns the later of two ends. An empty string is before every end.
func later(a, b string) string {
	if policy.EndOf(a).After(policy.EndOf(b)) {
		return a
	}
	return b
}

// when returns the date after which the reason no longer applies, or after which all of Entries can be exported, with
// the consequence.
func (r *Omission) when() string {
	if r.last == "" {
		return r.until + ", this reason no longer applies"
	}
	return r.last + ", a form without a clock exists, so export again then"
}
