package policy

import (
	"strconv"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// filterPlace is the place of a filter or a backend in a rule of a route or in a listener.
type filterPlace struct {
	within  string // the list of rules or of listeners
	element int    // the index in that list
	name    string // the name of the listener; empty for a rule
	backend int    // the index in backendRefs; -1 for the rule or the listener itself
	list    string // the field of the filters
	filter  int    // the index in the filters; -1 for the backend itself
	field   string // the field of the filter that contains a backend; empty for the filter itself
	port    int32  // the port of the backend
}

// These are the lists of filterPlace.within.
const (
	rulesField     = "spec.rules"
	listenersField = "spec.listeners"
)

// String returns the path of the field in the object: spec.rules[0].backendRefs[1].filters[0].
func (p filterPlace) String() string {
	s := p.within + "[" + strconv.Itoa(p.element) + "]"
	if p.backend >= 0 {
		s += ".backendRefs[" + strconv.Itoa(p.backend) + "]"
	}
	if p.filter >= 0 {
		s += "." + p.list + "[" + strconv.Itoa(p.filter) + "]"
	}
	return s
}

func (p filterPlace) backendField() string {
	if p.filter >= 0 {
		return p.String() + "." + p.field + ".backendRef"
	}
	return p.String()
}

// identityOf returns the identity of a finding about an object that a filter or a rule refers to. The identity is the
// same for all rules of a route, and different for each listener: a pre-existing filter of an internal listener does
// not exempt the same filter of a public listener.
func (p filterPlace) identityOf(check string, ref *object.Reference, r *rule.Recorder) rule.Identity {
	id := refIdentity(ref, check, r)
	if p.within == listenersField { // truncated to the longest values that the API server stores
		id.Use = id.Use[:min(len(id.Use), maxParentKind)] + " " + p.name[:min(len(p.name), maxSectionName)]
	}
	return id
}
