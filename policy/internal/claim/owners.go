package claim

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// OwnersEntry is an entry of the owners block. It lists hosts that only objects in some namespaces may claim.
//
// A host belongs to the most exact entry that covers it. The host itself is the most exact pattern, then *. of the name
// above it, then **. of the nearest name above it. The check finds a claim if any host in it belongs to an entry whose
// namespaces do not match the namespace of the object. Entries can only restrict, and they do not allow claims that
// another rule finds. The order of entries does not matter. An entry that is off is ignored. An entry never takes a
// host from an entry in a stricter mode. An expired entry does not cause findings, but its hosts still do not belong to
// entries that are less exact.
type OwnersEntry struct {
	rule.RuleHeader
	// Hosts lists the hosts that the entry owns, for example ["shop.example.com", "**.shop.example.com"].
	Hosts []match.HostPattern `yaml:"hosts,required"`
	// Namespaces lists the namespaces that may claim the hosts. A * matches any run of characters. [] means that the hosts
	// cannot be claimed from any namespace.
	Namespaces []match.Glob `yaml:"namespaces,required"`
}

// Validate implements strict.Validator.
func (e *OwnersEntry) Validate() error {
	var faults strict.Faults
	faults.Add(e.ValidateWithoutSelectors(rule.ClasslessDimensions()))
	const noMeaning = "has no meaning here: namespaces lists the owners of the hosts"
	if e.Match != nil {
		faults.Fieldf("match", noMeaning)
	}
	if e.Exclude != nil {
		faults.Fieldf("exclude", noMeaning)
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

// ownerLevel contains the owners of one mode. These are the entries in this mode and the entries in stricter modes,
// which may take hosts from them.
type ownerLevel struct {
	Mode    rule.Mode
	entries []*OwnersEntry // all entries that are not off
	hosts   *match.HostOwners
}

// Owners contains the compiled owners block. There is a level for each mode that entries have, the strictest mode
// first.
type Owners []ownerLevel

// CompileOwners returns a level for each mode that entries have, the strictest mode first.
func CompileOwners(entries []OwnersEntry, errs *strict.Collector) Owners {
	var inForce []*OwnersEntry
	first := map[match.HostPattern]*OwnersEntry{}
	modes := map[rule.Mode]bool{}
	for i := range entries {
		e := &entries[i]
		if e.Mode == rule.Off {
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
	var levels Owners
	for mode := rule.Enforce; mode > rule.Off; mode-- {
		if modes[mode] {
			levels = append(levels, newOwnerLevel(mode, inForce))
		}
	}
	return levels
}

func newOwnerLevel(mode rule.Mode, entries []*OwnersEntry) ownerLevel {
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

// OwnerRules returns a rule for each level, which reports its findings under the names of the entries.
func OwnerRules[T any](owners Owners, claims Claimant[T]) []rule.Rule[T] {
	var rules []rule.Rule[T]
	for _, level := range owners {
		h := rule.RuleHeader{Header: rule.Header{Name: ownersName, Mode: level.Mode}}
		rules = append(rules, rule.New(h, []rule.Check[T]{ownedElsewhere[T]{level, claims}}))
	}
	return rules
}

// ownersName is the name that review --explain shows for all owners in one mode.
const ownersName = "owners"

// ownedElsewhere finds each claim with a host that belongs to an entry in one mode, if no namespace pattern of the
// entry matches the namespace of the object. The finding contains the first such entry that is not exempt. An object
// without a namespace does not match any entry.
type ownedElsewhere[T any] struct {
	level  ownerLevel
	claims Claimant[T]
}

func (c ownedElsewhere[T]) Find(obj *T, r *rule.Recorder) {
	claims := c.claims(obj, r)
	for i := range claims.List {
		h := &claims.List[i]
		if h.carries() {
			continue
		}
		if !r.Spend(h.steps()) {
			return
		}
		c.findOwner(claims, i, r)
	}
}

// findOwner finds an entry that owns some of the hosts in claim i. It skips entries from which the object is exempt,
// but it adds the findings about them too. An exception for one entry does not open the hosts of another entry.
func (c ownedElsewhere[T]) findOwner(claims *Set, i int, r *rule.Recorder) {
	h := &claims.List[i]
	var exempt map[*OwnersEntry]struct{}
	for by, entry := range c.level.hosts.Find(h.HostPattern) {
		owner := c.level.entries[entry]
		if !r.Spend(rule.StepsOf(1+len(owner.Namespaces), r.Subject.Namespace)) {
			return
		}
		if _, found := exempt[owner]; found || !c.level.isForeign(owner, r.Subject) {
			continue
		}
		if exempt == nil && claims.repeated(i, r) {
			return
		}
		id := h.identity(rule.OwnersCheck)
		id.Detail = string(owner.Name)
		if f := r.TryAdd(id); f != nil {
			f.Rule, f.Note = string(owner.Name), string(owner.Message)
			f.Path, f.Reason = h.at.String(), owner.reason(h, by)
		}
		if !r.IsExempt(id) || !r.Spend(rule.LedgerSteps) {
			return
		}
		if exempt == nil {
			exempt = map[*OwnersEntry]struct{}{}
		}
		exempt[owner] = struct{}{}
	}
}

// isForeign reports whether an entry has the mode of the level, has not expired, and does not list the namespace of the
// object.
func (l *ownerLevel) isForeign(e *OwnersEntry, s *rule.Subject) bool {
	return e.Mode == l.Mode && !e.Until.HasEnded(s.Now) &&
		(s.Namespace == "" || !match.AnyGlob(e.Namespaces, s.Namespace))
}

// Share reports whether all hosts of a pattern belong to entries that list both namespaces.
func (o Owners) Share(hosts match.HostPattern, a, b string) bool {
	share := false
	for _, weakest := range o[max(0, len(o)-1):] { // the weakest mode has the entries of all modes
		for _, entry := range weakest.hosts.Find(hosts) {
			of := weakest.entries[entry].Namespaces
			if share = match.AnyGlob(of, a) && match.AnyGlob(of, b); !share {
				return false
			}
		}
	}
	return share
}

// reason returns the sentence about a claim with a host that the entry owns. by is the pattern that covers the host.
func (e *OwnersEntry) reason(h *Claim, by match.HostPattern) string {
	owned := "does not belong to any namespace"
	if len(e.Namespaces) > 0 {
		owned = "belongs to the namespaces " + text.List(e.Namespaces)
	}
	switch {
	case h.IsEvery():
		return h.at.every() + ", including " + by.String() + ", which " + owned + h.at.setOne()
	case h.Depth == match.HostItself, by == h.HostPattern:
		return h.quoted() + " " + owned
	default:
		return h.quoted() + " also covers hosts of " + by.String() + ", which " + owned + "; write each host out"
	}
}
