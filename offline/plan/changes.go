package plan

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
)

// Kind is a kind of change for an object, or for the findings of one rule.
type Kind string

// The kinds of changes, the most important first. An object has at most one of the first eight kinds.
const (
	NewlyDenied        Kind = "newlyDenied"
	PodsNewlyDenied    Kind = "podsNewlyDenied" // the workload is allowed, but its Pods will be denied
	NewlyAllowed       Kind = "newlyAllowed"    // was denied before
	PodsNoLongerDenied Kind = "podsNoLongerDenied"
	NewlyWarned        Kind = "newlyWarned"
	NoLongerWarned     Kind = "noLongerWarned"
	NewlyAudited       Kind = "newlyAudited" // allowed without a warning, but with findings of rules in mode audit
	NoLongerAudited    Kind = "noLongerAudited"
	RewrittenDiffers   Kind = "rewrittenOtherwise" // allowed by both policies, but images are pulled from other places
	FindingsDiffer     Kind = "otherFindings"      // the same decision with other reasons
	numKinds                = 10
)

// kinds returns the kinds in their order.
func kinds() [numKinds]Kind {
	return [numKinds]Kind{
		NewlyDenied, PodsNewlyDenied, NewlyAllowed, PodsNoLongerDenied, NewlyWarned, NoLongerWarned, NewlyAudited,
		NoLongerAudited, RewrittenDiffers, FindingsDiffer,
	}
}

// words returns the words for the kind in texts, and their color.
func (k Kind) words() (string, output.Tone) {
	of := map[Kind]struct {
		words string
		tone  output.Tone
	}{
		NewlyDenied:        {"newly denied", text.Colors.Bad},
		PodsNewlyDenied:    {"Pods newly denied", text.Colors.Bad},
		NewlyAllowed:       {"newly allowed", text.Colors.Good},
		PodsNoLongerDenied: {"Pods no longer denied", text.Colors.Good},
		NewlyWarned:        {"newly warned", text.Colors.Warn},
		NoLongerWarned:     {"no longer warned", text.Colors.Good},
		NewlyAudited:       {"newly audited", text.Colors.Note},
		NoLongerAudited:    {"no longer audited", text.Colors.Note},
		RewrittenDiffers:   {"rewritten differently", text.Colors.Note},
		FindingsDiffer:     {"other findings", text.Colors.Note},
	}[k]
	return of.words, of.tone
}

// index returns the position of the kind in the order of kinds.
func (k Kind) index() int {
	all := kinds()
	return slices.Index(all[:], k)
}

// Counts contains the numbers of changes, indexed by kind.
type Counts [numKinds]int

// Of returns the number of changes of a kind.
func (c *Counts) Of(k Kind) int { return c[k.index()] }

// MarshalJSON writes an object with a field for each kind.
func (c Counts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, k := range kinds() {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		b.WriteByte(separator)
		b.WriteString(`"` + string(k) + `":` + strconv.Itoa(c[i]))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// level is the visibility of a decision or finding to users.
type level int

// The levels.
const (
	nothing level = iota
	audited
	warned
	podsDenied // a workload is allowed, but its Pods are denied
	denied
)

// decision returns the decision that reports show for the level.
func (l level) decision() offline.Decision {
	switch l {
	case denied:
		return offline.Denied
	case podsDenied:
		return offline.PodsDenied
	case warned:
		return Warned
	case audited:
		return Audited
	default:
		return offline.Allowed
	}
}

// change returns the kind of change from one level to another. It is empty if the levels are equal.
func (l level) change(to level) Kind {
	if l == to {
		return ""
	}
	newly := map[level]Kind{denied: NewlyDenied, podsDenied: PodsNewlyDenied, warned: NewlyWarned, audited: NewlyAudited}
	noLonger := map[level]Kind{
		denied: NewlyAllowed, podsDenied: PodsNoLongerDenied, warned: NoLongerWarned, audited: NoLongerAudited,
	}
	if to > l {
		return newly[to]
	}
	return noLonger[l]
}
