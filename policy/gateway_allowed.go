package policy

import (
	"fmt"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// The values of from in allowedRoutes.namespaces and allowedListeners.namespaces.
const (
	fromAll      fromNamespaces = "All"
	fromSelector fromNamespaces = "Selector"
	fromSame     fromNamespaces = "Same"
	fromNone     fromNamespaces = "None"
)

// fromNamespaces says from which namespaces routes or ListenerSets may attach.
type fromNamespaces string

// UnmarshalText accepts the four values of the API.
func (n *fromNamespaces) UnmarshalText(b []byte) error {
	switch from := fromNamespaces(b); from {
	case fromAll, fromSelector, fromSame, fromNone:
		*n = from
		return nil
	}
	return fmt.Errorf("%s is not known here: write All, Selector, Same or None", text.Quote(b))
}

// allowedRouteRules is the field allowedRoutes of a gateways entry: {from: [Same, Selector]}.
type allowedRouteRules struct {
	// From lists what allowedRoutes.namespaces.from of a listener may be. An absent one is Same.
	From []fromNamespaces `yaml:"from,required"`
}

// Validate implements strict.Validator.
func (b *allowedRouteRules) Validate() error { return refuseNoFrom(b.From, fromSame) }

func (b *allowedRouteRules) checks() []check[gatewayView] {
	if b == nil {
		return nil
	}
	return []check[gatewayView]{allowedRoutesFrom{b.From, passing(b.From)}}
}

// allowedListenerRules is the field allowedListeners of a gateways entry: {from: [None, Same]}.
type allowedListenerRules struct {
	// From lists what spec.allowedListeners.namespaces.from of a Gateway may be. An absent one is None.
	From []fromNamespaces `yaml:"from,required"`
}

// Validate implements strict.Validator.
func (b *allowedListenerRules) Validate() error { return refuseNoFrom(b.From, fromNone) }

func (b *allowedListenerRules) checks() []check[gatewayView] {
	if b == nil {
		return nil
	}
	return []check[gatewayView]{allowedListenersFrom{b.From, passing(b.From)}}
}

// refuseNoFrom refuses an empty list, and names the value that was probably meant.
func refuseNoFrom(from []fromNamespaces, least fromNamespaces) error {
	if len(from) == 0 {
		return strict.Fieldf("from", "[] denies every Gateway: write [%s] or more", least)
	}
	return nil
}

// allowedRoutesFrom (allowedRoutes.from) finds each listener whose allowedRoutes.namespaces.from is not listed. A
// Selector that selects all namespaces is All: see NamespaceSelector.selectsAll. A finding is identified by the
// listener.
type allowedRoutesFrom struct {
	from    []fromNamespaces
	passing string
}

func (c allowedRoutesFrom) find(g *gatewayView, r *report) {
	for i, l := range g.listeners(r) {
		from, ok := l.AllowedRoutes.effective(fromSame, r)
		if !ok || slices.Contains(c.from, from) {
			continue
		}
		if f := r.tryAdd(l.identity("allowedRoutes.from", string(from))); f != nil {
			f.Path = listenerPath(i, "allowedRoutes.namespaces.from")
			f.Reason = l.AllowedRoutes.reason(from) + c.passing
		}
	}
}

// allowedListenersFrom (allowedListeners.from) finds a spec.allowedListeners.namespaces.from that is not listed; None,
// which takes no ListenerSet, always passes. A Selector that selects all namespaces is All: see
// NamespaceSelector.selectsAll.
type allowedListenersFrom struct {
	from    []fromNamespaces
	passing string
}

func (c allowedListenersFrom) find(g *gatewayView, r *report) {
	from, ok := g.AllowedListeners.effective(fromNone, r)
	if !ok || from == fromNone || slices.Contains(c.from, from) {
		return
	}
	r.add(identity{check: "allowedListeners.from", value: string(from)}, "spec.allowedListeners.namespaces.from",
		g.AllowedListeners.reason(from)+c.passing)
}

// effective returns from which namespaces n takes objects, with the default of its field. ok is false where the steps
// to say that are not available.
func (n *ListenerNamespaces) effective(absent fromNamespaces, r *report) (from fromNamespaces, ok bool) {
	switch {
	case n == nil, n.From == "":
		return absent, true
	case n.From != string(fromSelector):
		return fromNamespaces(n.From), true
	case n.Selector != nil && !r.spend(1+len(n.Selector.MatchExpressions)):
		return "", false
	case n.Selector.selectsAll():
		return fromAll, true
	}
	return fromSelector, true
}

// reason returns the beginning of the sentence about n, whose effective value is from.
func (n *ListenerNamespaces) reason(from fromNamespaces) string {
	switch {
	case n == nil || n.From == "":
		return "is not set, which means " + text.Quote(string(from)) + ", and that is not allowed"
	case n.From != string(from):
		return text.Quote(n.From) + " with a selector that a namespace without labels meets is " +
			text.Quote(string(from)) + ", which is not allowed"
	}
	return text.Quote(n.From) + " is not allowed"
}

// namespaceNameLabel is the label that the API server gives each namespace.
const namespaceNameLabel = "kubernetes.io/metadata.name"

// selectsAll reports whether a selector selects namespaces that have no labels but the one with their name, and so all
// that its author has not thought of: one without a requirement does, and one that asks only for what a namespace does
// not have, or for a name, whichever. An absent selector counts as empty.
func (s *NamespaceSelector) selectsAll() bool {
	if s == nil {
		return true
	}
	return len(s.MatchLabels) == 0 && !slices.ContainsFunc(s.MatchExpressions, func(e SelectorExpression) bool {
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
