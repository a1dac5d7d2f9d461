package policy

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// ownersEntry is an entry of owners: hosts that only objects of some namespaces may claim.
//
// A host belongs to the most exact entry that covers it: the one that names it, then *. of the name above it, then **.
// of the nearest name above it. A claim is found if any host in it belongs to an entry whose namespaces do not match
// the object's. Entries only close: they let nothing pass that another rule finds, and the order of entries has no
// meaning. An entry that is off does not exist, and none takes a host from one in a stricter mode. One that has ended
// finds nothing, and keeps its hosts from entries that are less exact.
type ownersEntry struct {
	ruleHeader
	// Hosts lists the hosts that the entry owns: ["shop.example.com", "**.shop.example.com"].
	Hosts []match.HostPattern `yaml:"hosts,required"`
	// Namespaces lists the namespaces that may claim them, * for any run of characters. With [] none may.
	Namespaces []match.Glob `yaml:"namespaces,required"`
}

// Validate implements strict.Validator.
func (e *ownersEntry) Validate() error {
	var faults strict.Faults
	e.dimensions = claimantDimensions()
	faults.Add(e.refuse(e.Mode))
	for field, selector := range map[string]*selector{"match": e.Match, "exclude": e.Exclude} {
		if selector != nil {
			faults.Fieldf(field, "has no meaning here: namespaces says who owns the hosts")
		}
	}
	if len(e.Hosts) == 0 {
		faults.Fieldf("hosts", "[] owns nothing: leave the entry out")
	}
	for _, g := range e.Namespaces {
		if err := match.Namespaces().Check(g); err != nil {
			faults.Fieldf("namespaces", "%v", err)
		}
	}
	return faults.Err()
}

// ownerLevel is the owners of one mode: the entries of that mode, and the stricter ones, which take hosts from them.
type ownerLevel struct {
	mode    Mode
	entries []*ownersEntry // those in force
	hosts   *match.HostOwners
}

// compileOwners returns a level for each mode that entries have.
func compileOwners(entries []ownersEntry, errs *strict.Collector) []ownerLevel {
	var inForce []*ownersEntry
	first := map[match.HostPattern]*ownersEntry{}
	modes := map[Mode]bool{}
	for i := range entries {
		e := &entries[i]
		if e.Mode == Off {
			continue
		}
		inForce, modes[e.Mode] = append(inForce, e), true
		for _, p := range e.Hosts {
			if other := first[p]; other != nil && other != e {
				errs.Errorf(e.Pos, "the host %s is owned by %s (%s): a host has one owner", p, other.Name, other.Pos)
			}
			first[p] = e
		}
	}
	var levels []ownerLevel
	for mode := Enforce; mode > Off; mode-- {
		if modes[mode] {
			levels = append(levels, newOwnerLevel(mode, inForce))
		}
	}
	return levels
}

func newOwnerLevel(mode Mode, entries []*ownersEntry) ownerLevel {
	return ownerLevel{mode, entries, match.NewHostOwners(func(yield func(match.HostPattern, int) bool) {
		for i, e := range entries {
			for _, p := range e.Hosts {
				if e.Mode >= mode && !yield(p, i) {
					return
				}
			}
		}
	})}
}

// ownerRules returns a rule for each level, which reports its findings under the names of the entries.
func ownerRules[T any](levels []ownerLevel, claims claimant[T]) []rule[T] {
	var rules []rule[T]
	for _, level := range levels {
		h := ruleHeader{header: header{Name: ownersName, Mode: level.mode}}
		rules = append(rules, rule[T]{h, []check[T]{ownedElsewhere[T]{level, claims}}})
	}
	return rules
}

// ownersCheck is the check of findings about owners. The detail of their identity is the entry.
const ownersCheck = "owners"

// ownersName is what review --explain calls the owners of one mode together.
const ownersName = "owners"

// ownedElsewhere finds each claim with a host that belongs to an entry of one mode, and the namespace of the object is
// not among those of the entry. It names the first such entry, exempt ones aside. An object without a namespace is in
// none.
type ownedElsewhere[T any] struct {
	level  ownerLevel
	claims claimant[T]
}

func (c ownedElsewhere[T]) find(obj *T, r *report) {
	claims := c.claims(obj, r)
	for i := range claims.list {
		h := &claims.list[i]
		if h.carries() {
			continue
		}
		if !r.spend(h.steps()) {
			return
		}
		c.findOwner(claims, i, r)
	}
}

// findOwner finds an entry that owns some of the hosts of claim i, and before it those of which the object is exempt:
// an exception from one entry opens no host of another.
func (c ownedElsewhere[T]) findOwner(claims *claimSet, i int, r *report) {
	h := &claims.list[i]
	var exempt map[*ownersEntry]struct{}
	for by, entry := range c.level.hosts.Find(h.HostPattern) {
		owner := c.level.entries[entry]
		if !r.spend(stepsOf(1+len(owner.Namespaces), r.subject.namespace)) {
			return
		}
		if _, found := exempt[owner]; found || !c.level.isForeign(owner, r.subject) {
			continue
		}
		if exempt == nil && claims.repeated(i, r) {
			return
		}
		id := h.identity(ownersCheck)
		id.detail = string(owner.Name)
		if f := r.tryAdd(id); f != nil {
			f.Rule, f.Note = string(owner.Name), string(owner.Message)
			f.Path, f.Reason = h.at.String(), owner.reason(h, by)
		}
		if r.isExempt == nil || !r.isExempt(id) || !r.spend(ledgerSteps) {
			return
		}
		if exempt == nil {
			exempt = map[*ownersEntry]struct{}{}
		}
		exempt[owner] = struct{}{}
	}
}

// isForeign reports whether an entry is of the level's mode, is in force, and owns its hosts for other namespaces than
// that of the object.
func (l *ownerLevel) isForeign(e *ownersEntry, s *subject) bool {
	return e.Mode == l.mode && !e.Until.hasEnded(s.now) &&
		(s.namespace == "" || !matchesAny(e.Namespaces, s.namespace))
}

// reason returns the sentence about a claim with a host that the entry owns by a pattern.
func (e *ownersEntry) reason(h *hostClaim, by match.HostPattern) string {
	owned := "belongs to no namespace"
	if len(e.Namespaces) > 0 {
		owned = "belongs to the namespaces " + text.List(e.Namespaces)
	}
	switch {
	case h.IsEvery():
		return h.at.every() + ", also " + by.String() + ", which " + owned + h.at.setOne()
	case h.Depth == match.HostItself, by == h.HostPattern:
		return h.quoted() + " " + owned
	default:
		return h.quoted() + " stands also for hosts of " + by.String() + ", which " + owned + "; write each host out"
	}
}
