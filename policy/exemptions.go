package policy

import "github.com/evergate/evergate/policy/internal/match"

// exemptions finds what silences the findings of one object: the exclude of their rule, where that ends, and entries of
// exceptions. It costs nothing where a policy has neither. The zero value silences nothing.
type exemptions struct {
	exceptions *exceptions
	subject    *subject

	applicable []*exception // those in force whose match the object meets; see inForce
	ready      bool

	excludeOf *header // the entry that excluded is about
	excluded  bool    // the exclude of that entry, in force, covers the object, without images
}

// find returns what silences a finding of a rule; nil for nothing.
func (x *exemptions) find(h *header, id *identity) *Exemption {
	if h.exempt != nil && x.isExcluded(h, id) {
		return &h.exempt.Exemption
	}
	if x.exceptions == nil {
		return nil
	}
	rule := string(h.Name)
	if id.check == ownersCheck {
		rule = id.detail // of the entry: the rule stands for all owners of a mode
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

func (x *exemptions) spend(n int) bool { return x.subject.effort == nil || x.subject.effort.spend(n) }

// isExcluded reports whether the exclude of a rule, which ends, is in force and covers the object, or the image of a
// finding.
func (x *exemptions) isExcluded(h *header, id *identity) bool {
	if h.exempt.hasEnded(x.subject.now) {
		return false
	}
	if x.excludeOf != h {
		x.excludeOf = h
		_, x.excluded = h.Exclude.excludes(x.subject)
	}
	if x.excluded || h.Exclude.Images == nil {
		return x.excluded
	}
	return x.spend(imageSteps) && id.isImageOf(h.exempt.images)
}

// inForce returns the exceptions that are in force and whose match the object meets.
func (x *exemptions) inForce() []*exception {
	if x.ready {
		return x.applicable
	}
	x.ready = true
	for _, i := range x.exceptions.index.candidates(x.subject.namespace) {
		e := &x.exceptions.list[i]
		if !x.spend(1) {
			return nil
		}
		if e.hasEnded(x.subject.now) {
			continue
		}
		if e.covers(x.subject) {
			x.applicable = append(x.applicable, e)
		}
	}
	return x.applicable
}

// covers reports whether an object meets the match of the exception. By classes it is as with an exclude: an object
// that names another class too, or none, as a ListenerSet, is not exempt.
func (e *exception) covers(s *subject) bool {
	if _, ok := e.match.matches(s); !ok {
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

// silences reports whether the exception, which is in force for an object, is about a finding of it.
func (e *exception) silences(rule string, id *identity) bool {
	for _, p := range e.rules {
		if !p.matches(rule, id.check) {
			continue
		}
		return e.match.Images == nil || id.isImageOf(e.images)
	}
	return false
}

// isImageOf reports whether a finding about an image is about one of a set. A text that is no reference is in none.
func (id *identity) isImageOf(set match.ImageSet) bool {
	_, ok := set.Find(match.Reference{Name: id.value, Suffix: id.detail})
	return ok && id.use != malformedImage
}
