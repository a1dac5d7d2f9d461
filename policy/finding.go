package policy

import "net/netip"

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

// ratchet marks the findings that the object had before the update. An update is answerable only for what it brings:
// were it denied for an old violation too, nobody could remove a finalizer from, or mend by steps, an object that is
// older than the policy.
func ratchet(findings, old []Finding) {
	if len(findings) == 0 || len(old) == 0 {
		return
	}
	before := newLedger(old)
	for i := range findings {
		findings[i].Existed = before.covers(&findings[i])
	}
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

func newLedger(findings []Finding) ledger {
	l := ledger{map[findingKey]struct{}{}, map[findingKey]int{}, map[rangeKey]struct{}{}}
	for i := range findings {
		f := &findings[i]
		switch {
		case f.Count > 0:
			k := findingKey{f.Rule, f.Check, f.Value, f.Idle}
			l.counts[k] = max(l.counts[k], f.Count)
		case f.Range.IsValid():
			l.ranges[rangeKey{f.Rule, f.Check, f.Range.Masked(), f.Idle}] = struct{}{}
		default:
			l.values[findingKey{f.Rule, f.Check, f.Value, f.Idle}] = struct{}{}
		}
	}
	return l
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
