package rule

import "github.com/evergate/evergate/policy/internal/match"

// exemptions finds the exemption that silences a finding of one object. It is the exclude of the rule, if it has an end
// date, or an entry of exceptions. Policies without either have no extra cost. The zero value does not silence
// anything.
type exemptions struct {
	exceptions *Exceptions
	subject    *Subject

	applicable []*exception // active exceptions whose match the object meets; see inForce
	ready      bool

	excludeOf *Header // the entry to which excluded applies
	excluded  bool    // the active exclude of excludeOf covers the object by a dimension other than images
}

// find returns the exemption that silences a finding of a rule, or nil if the finding is not silenced.
func (x *exemptions) find(h *Header, id *Identity) *Exemption {
	if h.exempt != nil && x.isExcluded(h, id) {
		return &h.exempt.Exemption
	}
	if x.exceptions == nil {
		return nil
	}
	rule := string(h.Name)
	if id.Check == OwnersCheck {
		rule = id.Detail // the name of the entry, because the rule represents all owners of a mode
	}
	for _, e := range x.inForce() {
		if !x.spend(len(e.rules)) {
			return nil
		}
		if e.silences(rule, id) {
			return &e.Exemption
		}
	}
	return nil
}

func (x *exemptions) spend(n int) bool { return x.subject.Effort.spend(n) }

// isExcluded reports whether the exclude of a rule is active and covers the object or the image of a finding. The
// exclude must have an end date.
func (x *exemptions) isExcluded(h *Header, id *Identity) bool {
	if h.exempt.hasEnded(x.subject.Now) {
		return false
	}
	if x.excludeOf != h {
		x.excludeOf = h
		_, x.excluded = h.Exclude.excludes(x.subject)
	}
	if x.excluded || h.Exclude.Images == nil {
		return x.excluded
	}
	return x.spend(match.ImageSteps) && id.isImageOf(h.exempt.images)
}

// inForce returns the active exceptions whose match the object meets.
func (x *exemptions) inForce() []*exception {
	if x.ready {
		return x.applicable
	}
	x.ready = true
	for _, i := range x.exceptions.index.candidates(x.subject.Namespace) {
		e := &x.exceptions.list[i]
		if !x.spend(1) {
			return nil
		}
		if e.hasEnded(x.subject.Now) {
			continue
		}
		if e.covers(x.subject) {
			x.applicable = append(x.applicable, e)
		}
	}
	return x.applicable
}

// Exceptions contains the compiled entries, with an index by namespace. A nil value has no entries.
type Exceptions struct {
	list  []exception
	index ruleIndex
}

// exception is a compiled entry.
type exception struct {
	Exemption
	rules  []rulePattern
	match  *Selector
	images match.ImageSet // match.images
}

// newExceptions returns an empty list of exceptions.
func newExceptions() *Exceptions {
	return &Exceptions{index: ruleIndex{names: map[string][]int{}, prefixes: map[string][]int{}}}
}

// add adds an exception. It silences findings of the rules that the patterns match, in the objects that the selector
// matches.
func (x *Exceptions) add(e Exemption, rules []rulePattern, of *Selector) {
	x.index.add(len(x.list), of)
	x.list = append(x.list, exception{e, rules, of, match.NewImageSet(of.Images)})
}

// covers reports whether an object meets the match of the exception. Classes are compared as in an exclude. An object
// is not exempt if it also has another class, or if it has no class, such as a ListenerSet.
func (e *exception) covers(s *Subject) bool {
	if !e.match.Matches(s) {
		return false
	}
	for _, names := range [][]match.Glob{e.match.ClassNames, e.match.LoadBalancerClasses, e.match.GatewayClassNames} {
		if names == nil {
			continue
		}
		if _, all := s.classExcludedBy(names); !all {
			return false
		}
	}
	return true
}

// silences reports whether the exception silences a finding of an object. The exception is active and covers the
// object.
func (e *exception) silences(rule string, id *Identity) bool {
	for _, p := range e.rules {
		if !p.matches(rule, id.Check) {
			continue
		}
		return e.match.Images == nil || id.isImageOf(e.images)
	}
	return false
}

// isImageOf reports whether a finding is about an image in set. A text that is not an image reference is not in any
// set.
func (id *Identity) isImageOf(set match.ImageSet) bool {
	if id.Use == MalformedImage { // it may be huge
		return false
	}
	_, ok := set.Find(match.Reference{Name: id.Value, Suffix: id.Detail})
	return ok
}

// MalformedImage is the use in the identity of a finding about a text that is not an image reference.
const MalformedImage = "malformed"

// OwnersCheck is the check in findings about owners. The detail in the identity of such a finding is the entry.
const OwnersCheck = "owners"
