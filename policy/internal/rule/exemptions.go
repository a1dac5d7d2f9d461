package rule

import "github.com/evergate/evergate/policy/internal/match"

// exemptions contains the exemptions of an object, which is compared with each of them once.
type exemptions struct {
	applicable []*exception // active exceptions whose match the object meets; see inForce
	ready      bool

	excludeOf *Header // the entry to which excluded applies
	excluded  bool    // the active exclude of excludeOf covers the object by a dimension other than images
}

// Exemption returns the exemption that silences a finding of a rule in the object, or nil if the finding is not
// silenced. It is the exclude of the rule, if it has an end date, or an entry of exceptions.
func (s *Subject) Exemption(exceptions *Exceptions, h *Header, id *Identity) *Exemption {
	if h.exempt != nil && s.isExcluded(h, id) {
		return &h.exempt.Exemption
	}
	if exceptions == nil {
		return nil
	}
	rule := string(h.Name)
	if id.Check == OwnersCheck {
		rule = id.Detail // the name of the entry, because the rule represents all owners of a mode
	}
	for _, e := range s.inForce(exceptions) {
		if s.Effort.Spend(len(e.rules)) != nil {
			return nil
		}
		if e.silences(rule, id) {
			return &e.Exemption
		}
	}
	return nil
}

// isExcluded reports whether the exclude of a rule is active and covers the object or the image of a finding. The
// exclude must have an end date.
func (s *Subject) isExcluded(h *Header, id *Identity) bool {
	if h.exempt.hasEnded(s.Now) {
		return false
	}
	if s.excludeOf != h {
		s.excludeOf = h
		_, s.excluded = h.Exclude.excludes(s)
	}
	if s.excluded || h.Exclude.Images == nil {
		return s.excluded
	}
	return s.Effort.Spend(match.ImageSteps) == nil && id.isImageOf(h.exempt.images)
}

// inForce returns the active exceptions whose match the object meets.
func (s *Subject) inForce(all *Exceptions) []*exception {
	if s.ready {
		return s.applicable
	}
	s.ready = true
	for _, i := range all.index.candidates(s.Namespace) {
		e := &all.list[i]
		if s.Effort.Spend(1) != nil {
			return nil
		}
		if !e.hasEnded(s.Now) && e.covers(s) {
			s.applicable = append(s.applicable, e)
		}
	}
	return s.applicable
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
