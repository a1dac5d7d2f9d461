package policy

import (
	"net/netip"
	"strconv"
)

// Finding is what one rule says of one place in one object.
type Finding struct {
	Rule   string // the entry's name: team-hosts
	Check  string // the field of the rule that was broken: hosts.allowed
	Mode   Mode
	Path   string // the field of the object: spec.rules[0].host
	Reason string // what was found and what would pass
	Note   string // the entry's own message; empty when it has none

	// Value is what offends. Together with Rule and Check it is the identity of a finding across an update, so it
	// holds no index: a list that is only reordered brings nothing new.
	Value string
	// Count is set by checks that count (at most N hosts): a larger count is new, a smaller one is not.
	Count int
	// Range is set by checks of address ranges: a range inside one that offended before is not new.
	Range netip.Prefix
	// Idle says that what offends has no effect where it stands: should it come into effect, that is new.
	Idle bool

	// Existed says that the object had this finding before the update: it warns, but never denies.
	Existed bool
}

// ID names the rule and its check, for grep and for alerts: team-hosts/hosts.allowed.
func (f Finding) ID() string { return f.Rule + "/" + f.Check }

// Denies says that this finding alone refuses the request.
func (f Finding) Denies() bool { return f.Mode == Enforce && !f.Existed }

// String is the sentence that users read: id, field, what was found, what would pass.
func (f Finding) String() string {
	s := f.ID() + ": "
	if f.Path != "" {
		s += f.Path + ": "
	}
	s += f.Reason
	if f.Note != "" {
		s += " (" + f.Note + ")"
	}
	return s
}

// maxFindings is how many findings of one check on one object are kept, old ones and new ones apart: more than anybody
// reads, and enough for the largest Ingress that means something. An object of a few megabytes can have hundreds of
// thousands, and one takes about half a kilobyte.
const maxFindings = 1000

// findings are those of one object. Those that it had before the update are marked: were an update denied for an old
// violation too, nobody could remove a finalizer from, or mend by steps, an object that is older than the policy.
type findings struct {
	before func() ledger // what the object had before the update; nil when it is new
	kept   []Finding
	groups map[findingGroup]*groupSize
}

// findingGroup is what of the findings of one object is counted apart.
type findingGroup struct {
	rule, check string
	existed     bool
}

// groupSize is how many findings a group has, and where in the list the last one is that was kept.
type groupSize struct{ n, last int }

func (fs *findings) add(f Finding) {
	if fs.before != nil {
		f.Existed = fs.before().covers(&f)
	}
	if fs.groups == nil {
		fs.groups = map[findingGroup]*groupSize{}
	}
	group := findingGroup{f.Rule, f.Check, f.Existed}
	size := fs.groups[group]
	if size == nil {
		size = &groupSize{}
		fs.groups[group] = size
	}
	if size.n++; size.n <= maxFindings {
		size.last = len(fs.kept)
		fs.kept = append(fs.kept, f)
	}
}

// list returns what is kept. The last of a group that has more says how many.
func (fs *findings) list() []Finding {
	for _, size := range fs.groups {
		if more := size.n - maxFindings; more > 0 {
			fs.kept[size.last].Reason += "; and " + strconv.Itoa(more) + " more like this"
		}
	}
	return fs.kept
}

// ledger holds the findings of an old object for lookups in constant time: an object may hold thousands.
type ledger struct {
	values map[findingKey]struct{}
	counts map[findingKey]int
	ranges map[rangeKey]struct{}
}

type findingKey struct {
	rule, check, value string
	idle               bool
}

type rangeKey struct {
	rule, check string
	prefix      netip.Prefix
	idle        bool
}

func newLedger() ledger {
	return ledger{map[findingKey]struct{}{}, map[findingKey]int{}, map[rangeKey]struct{}{}}
}

func (l ledger) add(f Finding) {
	key := findingKey{f.Rule, f.Check, f.Value, f.Idle}
	switch {
	case f.Count > 0:
		l.counts[key] = max(l.counts[key], f.Count)
	case f.Range.IsValid():
		l.ranges[rangeKey{f.Rule, f.Check, f.Range.Masked(), f.Idle}] = struct{}{}
	default:
		l.values[key] = struct{}{}
	}
}

// covers says whether a finding was there before. What was in effect may become idle, but not the reverse.
func (l ledger) covers(f *Finding) bool { return l.has(f, false) || f.Idle && l.has(f, true) }

func (l ledger) has(f *Finding, idle bool) bool {
	key := findingKey{f.Rule, f.Check, f.Value, idle}
	switch {
	case f.Count > 0:
		return l.counts[key] >= f.Count
	case f.Range.IsValid():
		return l.hasRange(f, idle)
	default:
		_, ok := l.values[key]
		return ok
	}
}

func (l ledger) hasRange(f *Finding, idle bool) bool {
	for bits := f.Range.Bits(); bits >= 0; bits-- {
		wider, err := f.Range.Addr().Prefix(bits)
		if err != nil {
			return false
		}
		if _, ok := l.ranges[rangeKey{f.Rule, f.Check, wider, idle}]; ok {
			return true
		}
	}
	return false
}
