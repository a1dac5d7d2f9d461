package offline

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
)

const (
	// skippedNames is how many names of skipped objects of one kind are kept, and how many names a line of text lists:
	// enough to recognise them.
	skippedNames = 5
	// maxSkips limits the kinds and reasons that are distinguished. It is more than a cluster has. A limit is needed
	// because the input can contain any kind.
	maxSkips = 1000
)

// otherKinds represents the kinds over maxSkips. A kind cannot have this name.
const otherKinds = "(others)"

// Skips counts the objects and files that were skipped, and lists the resources that an API server does not serve. It
// is a part of reports. The zero value is empty and ready to use.
type Skips struct {
	Skipped []Skipped `json:"skipped,omitempty"` // objects that were not validated, by kind
	// SkippedFiles lists the files in directories that do not contain manifests, by reason.
	SkippedFiles []SkippedFiles `json:"skippedFiles,omitempty"`
	// NotServed lists requested resources, such as certificates.cert-manager.io, that the API server does not serve.
	NotServed []string `json:"notServed,omitempty"`

	at map[skipKey]int // the index in Skipped
}

type skipKey struct{ kind, why string }

// Skipped describes objects of one kind that were not validated for one reason.
type Skipped struct {
	Kind  string   `json:"kind"`
	Why   string   `json:"why"`
	Count int      `json:"count"`
	Names []string `json:"names"` // the first few
}

// SkippedFiles are files that were not read for one reason.
type SkippedFiles struct {
	Why   string   `json:"why"`
	Count int      `json:"count"`
	Names []string `json:"names"` // all of them
}

// String returns the first names, and why the files were skipped.
func (s SkippedFiles) String() string {
	first := s.Names[:min(len(s.Names), skippedNames)]
	return text.Count(s.Count, "file") + ": " + text.AndMore(first, s.Count-len(first)) + " (" + s.Why + ")"
}

// Lines returns the lines of a text report, one for each reason.
func (s *Skips) Lines() []string {
	var lines []string
	byReason := map[string][]Skipped{}
	for _, o := range s.Skipped {
		byReason[o.Why] = append(byReason[o.Why], o)
	}
	for _, o := range s.Skipped { // reasons are in the order of the input
		if of := byReason[o.Why]; of != nil {
			lines = append(lines, "skipped: "+skippedText(of)+" ("+o.Why+")")
			delete(byReason, o.Why)
		}
	}
	for _, f := range s.SkippedFiles {
		lines = append(lines, "skipped: "+f.String())
	}
	if len(s.NotServed) > 0 {
		lines = append(lines, "not served: "+text.ListUpTo(len(s.NotServed), s.NotServed))
	}
	return lines
}

// skippedKinds is how many kinds a line lists.
const skippedKinds = 10

// skippedText returns the names of a few objects, and the counts by kind of many.
func skippedText(objects []Skipped) string {
	total := 0
	var names []string
	for _, o := range objects {
		total += o.Count
		for _, name := range o.Names {
			names = append(names, strings.TrimSuffix(text.Name(o.Kind)+" "+name, ` ""`)) // some objects do not have a name
		}
	}
	if total <= skippedNames {
		return strings.Join(names, ", ")
	}
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b Skipped) int { return cmp.Compare(b.Count, a.Count) })
	var kinds []string
	for _, o := range objects[:min(len(objects), skippedKinds)] {
		kinds = append(kinds, text.Thousands(o.Count)+" "+text.Name(o.Kind))
	}
	s := text.Thousands(total) + " objects: " + strings.Join(kinds, ", ")
	if more := len(objects) - len(kinds); more > 0 {
		s += " and " + text.Count(more, "more kind")
	}
	return s
}

// Add adds an object that is not validated.
func (s *Skips) Add(o Object, why string) {
	key := skipKey{text.Truncate(o.qualified(), admission.MaxName), why}
	i, ok := s.at[key]
	if !ok && len(s.Skipped) >= maxSkips {
		key.kind = otherKinds
		i, ok = s.at[key]
	}
	if !ok {
		if s.at == nil {
			s.at = map[skipKey]int{}
		}
		i = len(s.Skipped)
		s.at[key] = i
		s.Skipped = append(s.Skipped, Skipped{Kind: key.kind, Why: why})
	}
	skipped := &s.Skipped[i]
	skipped.Count++
	if len(skipped.Names) < skippedNames {
		skipped.Names = append(skipped.Names, qualifiedName(o.Namespace, o.Name))
	}
}

// AddError adds a SkippedError or a NotServedError. It returns false for other errors.
func (s *Skips) AddError(err error) bool {
	if absent, ok := errors.AsType[*NotServedError](err); ok {
		s.NotServed = append(s.NotServed, absent.Resource)
		return true
	}
	skipped, ok := errors.AsType[*SkippedError](err)
	if ok {
		s.AddFile(skipped)
	}
	return ok
}

// AddFile adds a file that was not read.
func (s *Skips) AddFile(e *SkippedError) {
	i := slices.IndexFunc(s.SkippedFiles, func(f SkippedFiles) bool { return f.Why == e.Why })
	if i < 0 {
		i = len(s.SkippedFiles)
		s.SkippedFiles = append(s.SkippedFiles, SkippedFiles{Why: e.Why})
	}
	skipped := &s.SkippedFiles[i]
	skipped.Count++
	skipped.Names = append(skipped.Names, e.File)
}
