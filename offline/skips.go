package offline

import (
	"slices"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
)

const (
	// skippedNames is the number of names of skipped objects that are kept for each kind. It is enough to recognize
	// them.
	skippedNames = 5
	// maxSkips limits the kinds and reasons that are distinguished. It is more than a cluster has. A limit is needed
	// because the input can contain any kind.
	maxSkips = 1000
)

// otherKinds represents the kinds over maxSkips. A kind cannot have this name.
const otherKinds = "(others)"

// Skips counts the objects and files that were skipped. The zero value is empty and ready to use.
type Skips struct {
	Objects []Skipped
	Files   []SkippedFiles

	at   map[skipKey]int // the index in Objects
	seen map[SkippedError]bool
}

type skipKey struct{ kind, why string }

// Skipped describes objects of one kind that were not validated for one reason.
type Skipped struct {
	Kind  string   `json:"kind"`
	Why   string   `json:"why"`
	Count int      `json:"count"`
	Names []string `json:"names"` // the first few
}

// String returns the names, and the reason why the objects were skipped.
func (s Skipped) String() string {
	return text.Name(s.Kind) + " " + text.AndMore(s.Names, s.Count-len(s.Names)) + " (" + s.Why + ")"
}

// SkippedFiles describes files that were not read for one reason.
type SkippedFiles struct {
	Why   string   `json:"why"`
	Count int      `json:"count"`
	Names []string `json:"names"` // the first few
}

// String returns the names, and the reason why the files were skipped.
func (s SkippedFiles) String() string {
	return count(s.Count, "file") + ": " + text.AndMore(s.Names, s.Count-len(s.Names)) + " (" + s.Why + ")"
}

// Add adds an object that is not validated.
func (s *Skips) Add(o Object, why string) {
	key := skipKey{text.Truncate(o.qualified(), admission.MaxName), why}
	i, ok := s.at[key]
	if !ok && len(s.Objects) >= maxSkips {
		key.kind = otherKinds
		i, ok = s.at[key]
	}
	if !ok {
		if s.at == nil {
			s.at = map[skipKey]int{}
		}
		i = len(s.Objects)
		s.at[key] = i
		s.Objects = append(s.Objects, Skipped{Kind: key.kind, Why: why})
	}
	skipped := &s.Objects[i]
	skipped.Count++
	if len(skipped.Names) < skippedNames {
		skipped.Names = append(skipped.Names, qualifiedName(o.Namespace, o.Name))
	}
}

// AddFile adds a file that was not read. A file with several documents counts once.
func (s *Skips) AddFile(e *SkippedError) {
	if s.seen == nil {
		s.seen = map[SkippedError]bool{}
	}
	if s.seen[*e] {
		return
	}
	s.seen[*e] = true
	i := slices.IndexFunc(s.Files, func(f SkippedFiles) bool { return f.Why == e.Why })
	if i < 0 {
		i = len(s.Files)
		s.Files = append(s.Files, SkippedFiles{Why: e.Why})
	}
	skipped := &s.Files[i]
	skipped.Count++
	if len(skipped.Names) < skippedNames {
		skipped.Names = append(skipped.Names, e.File)
	}
}
