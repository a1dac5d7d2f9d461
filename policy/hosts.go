package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// hostRules is the field hosts of ingresses, services and routes entries. Its checks evaluate the claims of an object
// in all places: see hostClaim. Hosts are compared as DNS compares them, by match.HostPattern. A rule without a host
// stands for every host, and so does a default backend, alone or beside rules.
type hostRules struct {
	// Allowed lists the hosts that pass: ["*.apps.example.com"]. A wildcard host passes only if every host that it
	// covers passes, and so does an absent one. [] means that no host passes. One label of a pattern may be {namespace},
	// which stands for the namespace of the object: ["*.{namespace}.apps.example.com"]. Where the request has no
	// namespace, nothing passes by such a pattern.
	Allowed []match.HostTemplate `yaml:"allowed"`
	// Denied lists the hosts that do not pass. A wildcard host, or an absent one, is denied if any host that it covers
	// is.
	Denied []match.HostPattern `yaml:"denied"`
	// Wildcards: deny means that a host must not be a wildcard; an absent one counts as a wildcard.
	Wildcards denial `yaml:"wildcards"`
	// Max is how many different hosts an object may name.
	Max *int `yaml:"max"`
}

// Validate implements strict.Validator.
func (h *hostRules) Validate() error {
	return errors.Join(h.faults(), h.refuseNothing("allowed, denied, wildcards or max"))
}

// faults returns what is wrong with the fields that are given.
func (h *hostRules) faults() error {
	var faults strict.Faults
	faults.Add(refuseEmpty("denied", h.Denied))
	denied := match.NewHostSet(h.Denied)
	for _, p := range h.Allowed {
		if by, ok := denied.Covers(p.Widest()); ok {
			faults.Fieldf("allowed", "%s is also denied, by %s: no host can pass by it", p, by)
		}
	}
	if h.Max != nil && *h.Max < 1 {
		faults.Fieldf("max", "%d is too few: to deny all hosts write allowed: []", *h.Max)
	}
	return faults.Err()
}

// refuseNothing refuses rules without a field that is checked.
func (h *hostRules) refuseNothing(fields string) error {
	if h.Allowed == nil && h.Denied == nil && !bool(h.Wildcards) && h.Max == nil {
		return errNoCheck(fields)
	}
	return nil
}

// fieldHostRules is the field hosts of entries for kinds that have a field for hosts of their own: Ingresses, routes,
// Gateways.
type fieldHostRules struct {
	// Required: true means that each rule of an Ingress must name a host, and that there must be a rule; that a route
	// must have hostnames; that each listener of a Gateway must have one.
	Required bool `yaml:"required"`
	hostRules
}

// Validate implements strict.Validator.
func (h *fieldHostRules) Validate() error {
	if h.Required {
		return h.faults()
	}
	return errors.Join(h.faults(), h.refuseNothing("required, allowed, denied, wildcards or max"))
}

// fieldHostChecks compiles rules for one kind of objects; nil has no checks. list is the field that has the hosts.
func fieldHostChecks[T any](h *fieldHostRules, claims claimant[T], list string) []check[T] {
	if h == nil {
		return nil
	}
	checks := hostChecks(&h.hostRules, claims, list)
	if h.Required {
		checks = slices.Insert(checks, 0, check[T](eachClaim[T]{hostsRequired{}, claims}))
	}
	return checks
}

// claimant returns the claims of an object, which its view keeps.
type claimant[T any] func(obj *T, r *report) *claimSet

// hostChecks compiles rules for one kind of objects; nil has no checks. list is the field that has the hosts.
func hostChecks[T any](h *hostRules, claims claimant[T], list string) []check[T] {
	if h == nil {
		return nil
	}
	var checks []check[T]
	add := func(c hostCheck) { checks = append(checks, eachClaim[T]{c, claims}) }
	if h.Allowed != nil {
		add(hostsAllowed{match.NewHostTemplates(h.Allowed), passing(stringsOf(h.Allowed))})
	}
	if h.Denied != nil {
		add(hostsDenied{match.NewHostOverlaps(h.Denied)})
	}
	if h.Wildcards {
		add(hostsWildcards{})
	}
	if h.Max != nil {
		checks = append(checks, hostsMax[T]{claims, *h.Max, list})
	}
	return checks
}

// hostCheck is a check of single claims.
type hostCheck interface {
	// id returns the field of the rule: hosts.allowed.
	id() string
	// passes reports whether a claim passes. All claims of an object share the lookup.
	passes(h *hostClaim, lookup *hostLookup) bool
	// reason returns the sentence about a claim of a namespace that does not pass.
	reason(h *hostClaim, namespace string) string
}

// eachClaim runs a hostCheck on each claim of an object.
type eachClaim[T any] struct {
	hostCheck
	claims claimant[T]
}

func (c eachClaim[T]) find(obj *T, r *report) {
	claims := c.claims(obj, r)
	claims.lookup = hostLookup{namespace: r.subject.namespace}
	for i := range claims.list {
		h := &claims.list[i]
		if !r.spend(h.steps()) {
			return
		}
		if c.passes(h, &claims.lookup) || claims.repeated(i, r) {
			continue
		}
		if f := r.tryAdd(h.identity(c.id())); f != nil {
			f.Path, f.Reason = h.at.String(), c.reason(h, r.subject.namespace)
		}
	}
}

// hostsRequired is hosts.required: it finds each rule without a host, an Ingress without rules, a default backend
// beside rules, a route without hostnames, and what else stands for every host.
type hostsRequired struct{}

func (hostsRequired) id() string { return "hosts.required" }

func (hostsRequired) passes(h *hostClaim, _ *hostLookup) bool { return !h.IsEvery() }

func (hostsRequired) reason(h *hostClaim, _ string) string { return h.at.every() + h.at.setOne() }

// hostsAllowed is hosts.allowed: it finds each host that no pattern covers. A wildcard passes only if one pattern
// covers every host that it stands for in its place: *.a.example in a rule passes by *.a.example and by **.example, but
// not by x.a.example; in an annotation of external-dns, where it stands for any depth, only by **. An absent host, and
// a default backend, pass only by **.
type hostsAllowed struct {
	patterns *match.HostTemplates
	passing  string // the end of its sentences
}

func (hostsAllowed) id() string { return "hosts.allowed" }

func (c hostsAllowed) passes(h *hostClaim, lookup *hostLookup) bool {
	return lookup.find(c.patterns.Patterns(), h) || c.patterns.CoversIn(lookup.namespace, h.HostPattern)
}

func (c hostsAllowed) reason(h *hostClaim, namespace string) string {
	allowed := c.passing
	if namespace != "" {
		allowed = strings.ReplaceAll(allowed, match.NamespacePlaceholder, text.Name(namespace))
	}
	if h.IsEvery() {
		return h.at.every() + allowed
	}
	return h.quoted() + " is not allowed" + allowed
}

// hostsDenied is hosts.denied: it finds each host that stands for any host that a pattern covers: *.example is denied
// by **.example, and also by a.example, for which it would serve requests too. An absent host stands for every host.
//
// A wildcard in a rule stands for one label, as the Ingress specification says, but for the classes of globbingClasses.
type hostsDenied struct{ denied *match.HostOverlaps }

func (hostsDenied) id() string { return "hosts.denied" }

func (c hostsDenied) passes(h *hostClaim, _ *hostLookup) bool {
	_, how := c.denied.Find(h.HostPattern)
	return how == match.NoOverlap
}

func (c hostsDenied) reason(h *hostClaim, _ string) string {
	switch by, how := c.denied.Find(h.HostPattern); how {
	case match.OverlapEvery:
		return h.at.every() + ", also the denied " + by.String() + h.at.setOne()
	case match.OverlapWildcard:
		return h.quoted() + " stands also for the denied " + by.String() + "; write each host out"
	default:
		return h.quoted() + " is denied by " + by.String()
	}
}

// hostsWildcards is hosts.wildcards: it finds each host with a star, each absent one, and a default backend.
type hostsWildcards struct{}

func (hostsWildcards) id() string { return "hosts.wildcards" }

func (hostsWildcards) passes(h *hostClaim, _ *hostLookup) bool { return h.Depth == match.HostItself }

func (hostsWildcards) reason(h *hostClaim, _ string) string {
	if h.IsEvery() {
		return h.at.every() + "; write each host out"
	}
	return h.quoted() + " is a wildcard, which is denied; write each host out"
}

// hostsMax is hosts.max: it finds an object with more different hosts than this. An absent host counts as one.
type hostsMax[T any] struct {
	claims claimant[T]
	most   int
	list   string // the field that has the hosts
}

func (c hostsMax[T]) find(obj *T, r *report) {
	claims := c.claims(obj, r)
	if len(claims.list) <= c.most {
		return // no need to count
	}
	if n := claims.differentHosts(r); n > c.most {
		r.add(identity{check: "hosts.max", count: n}, c.list,
			fmt.Sprintf("has %d different hosts; at most %d are allowed", n, c.most))
	}
}
