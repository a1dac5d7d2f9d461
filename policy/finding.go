package policy

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/evergate/evergate/policy/internal/match"
)

// Finding is what one rule says of one place in one object.
type Finding struct {
	Rule   string // the entry's name: team-hosts
	Check  string // the field of the rule that was broken: hosts.allowed
	Mode   Mode
	Path   string // the field of the object: spec.rules[0].host
	Reason string // what was found and what would pass
	Note   string // the entry's own message; empty when it has none

	// Existed says that the object had this finding before the update: it warns, but never denies.
	Existed bool

	id identity
}

// ID names the rule and its check, for grep and for alerts: team-hosts/hosts.allowed.
func (f Finding) ID() string { return f.Rule + "/" + f.Check }

// Denies says that this finding alone refuses the request.
func (f Finding) Denies() bool { return f.Mode == Enforce && !f.Existed }

// Warns says that this finding is told as a warning: in mode warn always, in mode enforce when it does not deny.
func (f Finding) Warns() bool { return f.Mode == Warn || f.Mode == Enforce && f.Existed }

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

// maxFindings is how many introduced findings end the judging of an object, and how many pre-existing ones are kept: more
// than a user reads, and enough for the largest object that means something.
const maxFindings = 1000

// findings are those of one object. Those that it had before the update are marked: were an update denied for a
// pre-existing violation too, no client could remove a finalizer from, or fix by steps, an object that is older than the
// policy.
//
// Rules are asked in the order of their modes, the strictest first. So when judging ends because there are enough
// introduced findings, either one of them denies the request, or all rules that might have denied it have been asked.
// Pre-existing findings never end it, since one that is introduced may come after any number of them.
type findings struct {
	kept       []keptFinding
	introduced int
	existed    int
}

// keptFinding is a finding and the place of its rule in the policy.
type keptFinding struct {
	Finding
	ruleIndex int
}

// full reports whether there are so many introduced findings that judging ends.
func (fs *findings) full() bool { return fs.introduced >= maxFindings }

// tryAdd counts a finding and returns it to be filled in; nil where it is one of too many to be kept, so that sentences
// that are not read are never made. What it returns is valid until the next call.
func (fs *findings) tryAdd(rule int, id identity, existed bool) *Finding {
	n := &fs.introduced
	if existed {
		n = &fs.existed
	}
	if *n++; *n > maxFindings {
		return nil
	}
	fs.kept = append(fs.kept, keptFinding{Finding{Existed: existed, id: id}, rule})
	return &fs.kept[len(fs.kept)-1].Finding
}

// list returns what is kept, in the order of the rules. Where there are more, the last finding says so.
func (fs *findings) list() []Finding {
	if len(fs.kept) == 0 {
		return nil
	}
	slices.SortStableFunc(fs.kept, func(a, b keptFinding) int { return cmp.Compare(a.ruleIndex, b.ruleIndex) })
	list := make([]Finding, len(fs.kept))
	for i := range fs.kept {
		list[i] = fs.kept[i].Finding
	}
	last := &list[len(list)-1]
	if more := fs.existed - maxFindings; more > 0 {
		last.Reason += "; and " + strconv.Itoa(more) + " more that existed before"
	}
	if fs.full() {
		last.Reason += "; judging ended at " + strconv.Itoa(maxFindings) + " findings"
	}
	return list
}

// identity is what a finding is recognised by across an update. It holds no index: a list that is only reordered
// introduces nothing. The texts are parts of the object, not copies.
type identity struct {
	check  string          // the field of the rule that is broken: hosts.allowed
	value  string          // what offends
	detail string          // more of what offends: the value of an annotation, the path below a host
	use    string          // how it is used, where that matters: as what a node port, the type of a path
	depth  match.HostDepth // of a host
	// idle says that what offends has no effect where it stands: should it come into effect, that is introduced.
	idle bool

	// count is set by checks that count (at most N hosts): a larger count is introduced, a smaller one is not.
	count int
	// prefix is set by checks of address ranges: a range inside one that offended before is not introduced.
	prefix netip.Prefix
}

// ledger holds what one check finds in the object before an update.
type ledger struct {
	values   map[valueKey]struct{}
	counts   map[valueKey]int
	prefixes map[prefixKey]struct{}
	bits     [129]bool // lengths that prefixes have
}

// valueKey and prefixKey are what an identity is looked up by. They are apart since an object may have ten thousand.
type valueKey struct {
	check, value, detail, use string
	depth                     match.HostDepth
	idle                      bool
}

type prefixKey struct {
	check  string
	prefix netip.Prefix
	idle   bool
}

func (id *identity) key() valueKey {
	return valueKey{id.check, id.value, id.detail, id.use, id.depth, id.idle}
}

// clear makes the ledger empty, for the next check.
func (l *ledger) clear() {
	clear(l.values)
	clear(l.counts)
	clear(l.prefixes)
	l.bits = [129]bool{}
}

func (l *ledger) add(id identity) {
	switch {
	case id.count > 0:
		if l.counts == nil {
			l.counts = map[valueKey]int{}
		}
		key := id.key()
		l.counts[key] = max(l.counts[key], id.count)
	case id.prefix.IsValid():
		if l.prefixes == nil {
			l.prefixes = map[prefixKey]struct{}{}
		}
		l.bits[id.prefix.Bits()] = true
		l.prefixes[prefixKey{id.check, id.prefix.Masked(), id.idle}] = struct{}{}
	default:
		if l.values == nil {
			l.values = map[valueKey]struct{}{}
		}
		l.values[id.key()] = struct{}{}
	}
}

// covers reports whether a finding was there before. What was in effect may become idle, but not the reverse.
func (l *ledger) find(id identity, e *Effort) bool {
	idle := id.idle
	id.idle = false
	if l.findExact(id, e) {
		return true
	}
	id.idle = true
	return idle && l.findExact(id, e)
}

func (l *ledger) findExact(id identity, e *Effort) bool {
	switch {
	case id.count > 0:
		return l.counts[id.key()] >= id.count
	case id.prefix.IsValid():
		return l.findPrefix(id, e)
	default:
		_, ok := l.values[id.key()]
		return ok
	}
}

func (l *ledger) findPrefix(id identity, e *Effort) bool {
	for bits := id.prefix.Bits(); bits >= 0; bits-- {
		if !l.bits[bits] || !e.spend(1) {
			continue
		}
		wider := netip.PrefixFrom(id.prefix.Addr(), bits).Masked()
		if _, ok := l.prefixes[prefixKey{id.check, wider, id.idle}]; ok {
			return true
		}
	}
	return false
}
