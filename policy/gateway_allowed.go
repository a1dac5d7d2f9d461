package policy

import (
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// These are the values of from in allowedRoutes.namespaces and allowedListeners.namespaces.
const (
	fromAll      fromNamespaces = "All"
	fromSelector fromNamespaces = "Selector"
	fromSame     fromNamespaces = "Same"
	fromNone     fromNamespaces = "None"
)

// fromNamespaces selects the namespaces from which routes or ListenerSets may attach.
type fromNamespaces string

// UnmarshalText accepts the four values of the API.
func (n *fromNamespaces) UnmarshalText(b []byte) error {
	return rule.ReadWord(n, b, "known here", fromAll, fromSelector, fromSame, fromNone)
}

// allowedRouteRules is the allowedRoutes field of a gateways entry: {from: [Same, Selector]}.
type allowedRouteRules struct {
	// From lists the values that allowedRoutes.namespaces.from of a listener may have. An absent value means Same.
	From []fromNamespaces `yaml:"from,required"`
}

func (b *allowedRouteRules) Validate() error { return rejectNoFrom(b.From, fromSame) }

// Find is the check allowedRoutes.from. It finds each listener whose allowedRoutes.namespaces.from is not listed. A
// Selector that selects all namespaces counts as All: see selectsAll. A finding is identified by the listener.
func (b *allowedRouteRules) Find(g *gatewayView, r *rule.Recorder) {
	for i, l := range g.listeners(r) {
		from, ok := effectiveNamespaces(l.AllowedRoutes, fromSame, r)
		if !ok || slices.Contains(b.From, from) {
			continue
		}
		if f := r.TryAdd(listenerIdentity(l, "allowedRoutes.from", string(from))); f != nil {
			f.Path = listenerPath(i, "allowedRoutes.namespaces.from")
			f.Reason = namespacesReason(l.AllowedRoutes, from) + rule.Passing(b.From)
		}
	}
}

// allowedListenerRules is the allowedListeners field of a gateways entry: {from: [None, Same]}.
type allowedListenerRules struct {
	// From lists the values that spec.allowedListeners.namespaces.from of a Gateway may have. An absent value means None.
	From []fromNamespaces `yaml:"from,required"`
}

func (b *allowedListenerRules) Validate() error { return rejectNoFrom(b.From, fromNone) }

// Find is the check allowedListeners.from. It finds a spec.allowedListeners.namespaces.from that is not listed. None
// always passes, because it does not accept any ListenerSet. A Selector that selects all namespaces counts as All: see
// selectsAll.
func (b *allowedListenerRules) Find(g *gatewayView, r *rule.Recorder) {
	from, ok := effectiveNamespaces(g.AllowedListeners, fromNone, r)
	if !ok || from == fromNone || slices.Contains(b.From, from) {
		return
	}
	r.Add(rule.Identity{Check: "allowedListeners.from", Value: string(from)}, "spec.allowedListeners.namespaces.from",
		namespacesReason(g.AllowedListeners, from)+rule.Passing(b.From))
}

// rejectNoFrom returns an error for an empty list. The error suggests least, the value that was probably meant.
func rejectNoFrom(from []fromNamespaces, least fromNamespaces) error {
	if len(from) == 0 {
		return strict.Fieldf("from", "[] denies every Gateway: write [%s] or more", least)
	}
	return nil
}

// effectiveNamespaces returns the namespaces from which n accepts objects. absent is the default of its field. ok is
// false if the Effort is exceeded.
func effectiveNamespaces(
	n *object.ListenerNamespaces, absent fromNamespaces, r *rule.Recorder,
) (from fromNamespaces, ok bool) {
	switch {
	case n == nil, n.From == "":
		return absent, true
	case n.From != string(fromSelector):
		return fromNamespaces(n.From), true
	case n.Selector != nil && !r.Spend(1+len(n.Selector.MatchExpressions)):
		return "", false
	case selectsAll(n.Selector):
		return fromAll, true
	}
	return fromSelector, true
}

// namespacesReason returns the beginning of the sentence about n, whose effective value is from.
func namespacesReason(n *object.ListenerNamespaces, from fromNamespaces) string {
	switch {
	case n == nil || n.From == "":
		return "is not set, which means " + text.Quote(string(from)) + ", and that is not allowed"
	case n.From != string(from):
		return text.Quote(n.From) + " with a selector that matches namespaces without labels means " +
			text.Quote(string(from)) + ", which is not allowed"
	}
	return text.Quote(n.From) + " is not allowed"
}

// namespaceNameLabel is the label that the API server sets on each namespace.
const namespaceNameLabel = "kubernetes.io/metadata.name"

// selectsAll reports whether a selector selects namespaces that have only the label with their name. Such a selector
// also selects namespaces that its author did not consider. It has no requirements, or it requires only that labels are
// absent or do not have certain values, or that the namespace has a name, whichever name this is. An absent selector
// counts as empty.
func selectsAll(s *object.NamespaceSelector) bool {
	if s == nil {
		return true
	}
	return len(s.MatchLabels) == 0 && !slices.ContainsFunc(s.MatchExpressions, func(e object.SelectorExpression) bool {
		switch e.Operator {
		case "NotIn":
			return false
		case "DoesNotExist":
			return e.Key == namespaceNameLabel
		case "Exists":
			return e.Key != namespaceNameLabel
		}
		return true
	})
}
