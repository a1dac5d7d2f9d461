package plan

import (
	"bytes"
	"strconv"

	"github.com/evergate/evergate/offline"
)

// Kind is a kind of change for an object, or for what one rule says of it.
type Kind string

// The kinds of changes, in the order in which they matter. Of the first eight an object has one at most.
const (
	NewlyDenied       Kind = "newlyDenied"
	NewlyRefused      Kind = "podsNewlyRefused" // a workload is allowed, and its Pods will be denied
	NewlyAllowed      Kind = "newlyAllowed"     // it was denied
	NoLongerRefused   Kind = "podsNoLongerRefused"
	NewlyWarned       Kind = "newlyWarned"
	NoLongerWarned    Kind = "noLongerWarned"
	NewlyAudited      Kind = "newlyAudited" // allowed without a warning, and a rule in mode audit finds something
	NoLongerAudited   Kind = "noLongerAudited"
	RewrittenDiffers  Kind = "rewrittenOtherwise" // allowed by both, and images are pulled from elsewhere
	FindingsDiffer    Kind = "otherFindings"      // decided alike, for other reasons
	numKinds               = 10
	lastDecisionIndex      = 7
)

// kinds lists the kinds in their order.
func kinds() [numKinds]Kind {
	return [numKinds]Kind{
		NewlyDenied, NewlyRefused, NewlyAllowed, NoLongerRefused, NewlyWarned, NoLongerWarned, NewlyAudited, NoLongerAudited,
		RewrittenDiffers, FindingsDiffer,
	}
}

// String returns the words that texts have for the kind.
func (k Kind) String() string {
	switch k {
	case NewlyDenied:
		return "newly denied"
	case NewlyRefused:
		return "Pods newly refused"
	case NewlyAllowed:
		return "newly allowed"
	case NoLongerRefused:
		return "Pods no longer refused"
	case NewlyWarned:
		return "newly warned"
	case NoLongerWarned:
		return "no longer warned"
	case NewlyAudited:
		return "newly audited"
	case NoLongerAudited:
		return "no longer audited"
	case RewrittenDiffers:
		return "rewritten otherwise"
	default:
		return "other findings"
	}
}

// index returns the place of a kind in their order.
func (k Kind) index() int {
	for i, other := range kinds() {
		if k == other {
			return i
		}
	}
	return numKinds - 1
}

// Counts are the numbers of changes, by the index of their kinds.
type Counts [numKinds]int

// Of returns the number of changes of a kind.
func (c *Counts) Of(k Kind) int { return c[k.index()] }

func (c *Counts) add(kinds []Kind) {
	for _, k := range kinds {
		c[k.index()]++
	}
}

func (c *Counts) addAll(other *Counts) {
	for i, n := range other {
		c[i] += n
	}
}

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

// level is how much a user notices of a decision, or of a finding.
type level int

// The levels.
const (
	nothing level = iota
	audited
	warned
	refused // the Pods of a workload
	denied
)

// Decision returns the word for a level, as reports have it.
func (l level) decision() offline.Decision {
	switch l {
	case denied:
		return offline.Denied
	case refused:
		return offline.PodsRefused
	case warned:
		return Warned
	case audited:
		return Audited
	default:
		return offline.Allowed
	}
}

// change returns the kind of the change from one level to another; empty for none.
func (l level) change(to level) Kind {
	if l == to {
		return ""
	}
	newly := map[level]Kind{denied: NewlyDenied, refused: NewlyRefused, warned: NewlyWarned, audited: NewlyAudited}
	noLonger := map[level]Kind{
		denied: NewlyAllowed, refused: NoLongerRefused, warned: NoLongerWarned, audited: NoLongerAudited,
	}
	if to > l {
		return newly[to]
	}
	return noLonger[l]
}
