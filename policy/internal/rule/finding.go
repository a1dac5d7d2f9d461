package rule

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/evergate/evergate/policy/internal/match"
)

// Finding is one violation of one rule in one field of an object.
type Finding struct {
	Rule   string // the name of the entry: team-hosts
	Check  string // the field of the rule that is violated: hosts.allowed
	Mode   Mode
	Path   string // the field of the object: spec.rules[0].host
	Reason string // a description of the violation and of values that would pass
	Note   string // the message of the entry; may be empty

	// Existed is true for a pre-existing finding, which the object had before the update. It can warn, but never denies.
	Existed bool
	// PodsDenied is true for an introduced finding in the template of a workload if the finding does not deny the
	// workload, but the rule will deny the Pods of the workload.
	PodsDenied bool

	// Exempt is the exemption that silences the finding, which then neither denies nor warns. It is nil if the finding is
	// not silenced.
	Exempt *Exemption

	id Identity
}

// ID returns the rule and its check, for grep and for alerts: team-hosts/hosts.allowed.
func (f Finding) ID() string { return f.Rule + "/" + f.Check }

// Denies reports whether this finding denies the request.
func (f Finding) Denies() bool { return f.Mode == Enforce && !f.Existed && f.Exempt == nil }

// Warns reports whether this finding is a warning. A finding in mode warn always is. A finding in mode enforce is a
// warning if it does not deny. An exempt finding never is.
func (f Finding) Warns() bool { return f.Mode >= Warn && f.Exempt == nil && !f.Denies() }

// ExemptWord replaces the mode of an exempt finding when findings are counted by mode.
const ExemptWord = "exempt"

// ModeWord returns the word under which the finding is counted: its mode, or ExemptWord.
func (f Finding) ModeWord() string {
	if f.Exempt != nil {
		return ExemptWord
	}
	return f.Mode.String()
}

// String returns the sentence that users read: the ID, the field, the violation, and values that would pass.
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

// MaxFindings is the number of introduced findings at which the evaluation of an object ends, and the maximum number of
// pre-existing findings that are kept. Users do not read more, and the limit suffices for the largest realistic object.
const MaxFindings = 1000

// findings contains the findings of one object. Pre-existing findings are marked. If they denied an update, no client
// could remove a finalizer from an object that is older than the policy, or fix the object step by step.
//
// Rules are evaluated in the order of their modes, the strictest first. If the evaluation ends at MaxFindings, either
// one of these findings denies the request, or all rules that could deny it have been evaluated. Pre-existing findings
// never end the evaluation, because an introduced finding may follow any number of them. Exempt findings never end it
// either.
type findings struct {
	kept       []keptFinding
	introduced int
	existed    int
	exempt     int
}

// keptFinding is a finding and the index of its rule in the policy.
type keptFinding struct {
	Finding
	ruleIndex int
}

// full reports whether there are so many introduced findings that the evaluation must end.
func (fs *findings) full() bool { return fs.introduced >= MaxFindings }

// tryAdd counts a finding and returns it for the caller to fill in. It returns nil if the finding is not kept, so
// callers never format sentences that are not shown. The pointer is valid until the next call.
func (fs *findings) tryAdd(rule int, id Identity, existed bool, exempt *Exemption) *Finding {
	n := &fs.introduced
	switch {
	case exempt != nil:
		n = &fs.exempt
	case existed:
		n = &fs.existed
	}
	if *n++; *n > MaxFindings {
		return nil
	}
	fs.kept = append(fs.kept, keptFinding{Finding{Existed: existed, Exempt: exempt, id: id}, rule})
	return &fs.kept[len(fs.kept)-1].Finding
}

// list returns the kept findings, at least one, in the order of the rules. If the list is truncated, it adds a note to
// the last finding, unless uncut is true.
func (fs *findings) list(uncut bool) []Finding {
	slices.SortStableFunc(fs.kept, func(a, b keptFinding) int { return cmp.Compare(a.ruleIndex, b.ruleIndex) })
	list := make([]Finding, len(fs.kept))
	for i := range fs.kept {
		list[i] = fs.kept[i].Finding
	}
	if uncut {
		return list
	}
	last := &list[len(list)-1]
	if more := fs.existed - MaxFindings; more > 0 {
		last.Reason += "; and " + strconv.Itoa(more) + " more that existed before"
	}
	if more := fs.exempt - MaxFindings; more > 0 {
		last.Reason += "; and " + strconv.Itoa(more) + " more that are exempt"
	}
	if fs.full() {
		last.Reason += "; the evaluation stopped at " + strconv.Itoa(MaxFindings) + " findings"
	}
	return list
}

// Identity identifies a finding across an update. It does not contain an index, so reordering a list does not introduce
// a finding. The texts are parts of the object, not copies.
type Identity struct {
	Check  string          // the field of the rule that is violated: hosts.allowed
	Value  string          // the value that violates it
	Detail string          // more of the value: the value of an annotation, the path of a host
	Use    string          // the use of the value: a node port for health checks, the type of a path
	Depth  match.HostDepth // the depth of a host
	// Idle is true if the value has no effect in its field. If an update makes the value effective, the finding is
	// introduced.
	Idle bool
	// Part is the part or kind of a reference: the port of a parent, the kind of a filter.
	Part int32

	// Count is set by checks that count (at most N hosts). A larger count is introduced, a smaller count is pre-existing.
	Count int
	// Prefix is set by checks of address ranges. A range inside a pre-existing range is pre-existing.
	Prefix netip.Prefix
}

// IdentityOf returns the identity of a finding. Only tests need it.
func IdentityOf(f Finding) Identity { return f.id }

// ledger contains the identities of the findings of one check in the object before an update.
type ledger struct {
	values   map[valueKey]struct{}
	counts   map[valueKey]int
	prefixes map[prefixKey]struct{}
	bits     [129]bool // the lengths of the prefixes
}

// valueKey and prefixKey are the keys of identities. Two types save memory, because an object may have ten thousand
// keys.
type valueKey struct {
	check, value, detail, use string
	depth                     match.HostDepth
	idle                      bool
	part                      int32
}

type prefixKey struct {
	check  string
	prefix netip.Prefix
	idle   bool
}

// key returns the key of an identity without a prefix.
func (id *Identity) key() valueKey {
	return valueKey{id.Check, id.Value, id.Detail, id.Use, id.Depth, id.Idle, id.Part}
}

// clear empties the ledger for the next check.
func (l *ledger) clear() {
	clear(l.values)
	clear(l.counts)
	clear(l.prefixes)
	l.bits = [129]bool{}
}

// add adds a finding.
func (l *ledger) add(id Identity) {
	switch {
	case id.Count > 0:
		if l.counts == nil {
			l.counts = map[valueKey]int{}
		}
		key := id.key()
		l.counts[key] = max(l.counts[key], id.Count)
	case id.Prefix.IsValid():
		if l.prefixes == nil {
			l.prefixes = map[prefixKey]struct{}{}
		}
		l.bits[id.Prefix.Bits()] = true
		l.prefixes[prefixKey{id.Check, id.Prefix.Masked(), id.Idle}] = struct{}{}
	default:
		if l.values == nil {
			l.values = map[valueKey]struct{}{}
		}
		l.values[id.key()] = struct{}{}
	}
}

// find reports whether a finding is pre-existing. An effective value may become idle, but not the reverse. The lookup
// of prefixes counts steps.
func (l *ledger) find(id Identity, e *Effort) bool {
	idle := id.Idle
	id.Idle = false
	if l.findExact(id, e) {
		return true
	}
	id.Idle = true
	return idle && l.findExact(id, e)
}

// findExact is like find, but compares idle exactly.
func (l *ledger) findExact(id Identity, e *Effort) bool {
	switch {
	case id.Count > 0:
		return l.counts[id.key()] >= id.Count
	case id.Prefix.IsValid():
		return l.findPrefix(id, e)
	default:
		_, ok := l.values[id.key()]
		return ok
	}
}

// findPrefix reports whether the ledger has a prefix that contains the prefix of the finding.
func (l *ledger) findPrefix(id Identity, e *Effort) bool {
	for bits := id.Prefix.Bits(); bits >= 0; bits-- {
		if !l.bits[bits] || e.Spend(1) != nil {
			continue
		}
		wider := netip.PrefixFrom(id.Prefix.Addr(), bits).Masked()
		if _, ok := l.prefixes[prefixKey{id.Check, wider, id.Idle}]; ok {
			return true
		}
	}
	return false
}
