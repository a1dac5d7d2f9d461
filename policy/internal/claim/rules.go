package claim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// HostRules is the hosts field of entries for kinds that claim hosts. Its checks evaluate all claims of an object. See
// Claim. Hosts are compared as in DNS, by match.HostPattern. A rule without a host claims every host. A default backend
// also claims every host, with or without rules.
type HostRules struct {
	// Allowed lists the hosts that pass, for example ["*.apps.example.com"]. A wildcard host passes only if every host
	// that it covers passes. An absent host covers every host. [] means that no host passes. One label of a pattern may be
	// {namespace}, which represents the namespace of the object, as in ["*.{namespace}.apps.example.com"]. If the request
	// has no namespace, such a pattern does not match any host.
	Allowed []match.HostTemplate `yaml:"allowed"`
	// Denied lists the hosts that do not pass. A wildcard host or an absent host is denied if any host that it covers is
	// denied.
	Denied []match.HostPattern `yaml:"denied"`
	// Wildcards: deny means that a host must not be a wildcard. An absent host counts as a wildcard.
	Wildcards rule.Denial `yaml:"wildcards"`
	// Max is the maximum number of different hosts in an object.
	Max *int `yaml:"max"`
}

// Validate implements strict.Validator.
func (h *HostRules) Validate() error {
	return errors.Join(h.faults(), h.rejectNothing("allowed, denied, wildcards or max"))
}

// faults returns the mistakes in the fields that are set.
func (h *HostRules) faults() error {
	var faults strict.Faults
	faults.Add(rule.RejectEmpty("denied", h.Denied))
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

// rejectNothing returns an error if the rules do not check anything.
func (h *HostRules) rejectNothing(fields string) error {
	if h.Allowed == nil && h.Denied == nil && !bool(h.Wildcards) && h.Max == nil {
		return rule.ErrNoCheck(fields)
	}
	return nil
}

// FieldHostRules is the hosts field of entries for kinds that have a field for hosts: Ingresses, routes and Gateways.
type FieldHostRules struct {
	// Required: true means that hosts must be set. An Ingress must have a rule, and each of its rules must have a host. A
	// route must have hostnames. Each listener of a Gateway must have a hostname.
	Required bool `yaml:"required"`
	HostRules
}

// Validate implements strict.Validator.
func (h *FieldHostRules) Validate() error {
	if h.Required {
		return h.faults()
	}
	return errors.Join(h.faults(), h.rejectNothing("required, allowed, denied, wildcards or max"))
}

// RouteHostRules is the hosts block of a routes entry. It validates spec.hostnames of HTTPRoutes, GRPCRoutes and
// TLSRoutes, and the annotations by which a route of any kind claims hosts. A wildcard in spec.hostnames covers names
// at any depth: *.apps.example passes by **.apps.example, but not by *.apps.example. A route without hostnames claims
// every host of its listeners. An IP address is compared like a name. Header matches, for example of Host, are not
// claims.
//
// If all parents of a route are Services, the route belongs to a mesh. Gateway API does not define hostnames for such
// routes. Their hostnames are therefore not claims, and may be absent.
type RouteHostRules struct {
	FieldHostRules
	// MeshHosts: true means that hostnames are claims even if all parents are Services. Set it for meshes that match
	// requests by hostnames.
	MeshHosts bool `yaml:"meshHosts"`
}

// Validate implements strict.Validator.
func (h *RouteHostRules) Validate() error {
	if h.MeshHosts && !h.Required && h.rejectNothing("") != nil {
		return errors.Join(h.faults(),
			rule.ErrNoCheck("required, allowed, denied, wildcards or max in addition to meshHosts"))
	}
	return h.FieldHostRules.Validate()
}

// FieldChecks compiles rules for one kind of object. It returns no checks if h is nil. list is the field that contains
// the hosts.
func FieldChecks[T any](h *FieldHostRules, claims Claimant[T], list string) []rule.Check[T] {
	if h == nil {
		return nil
	}
	checks := Checks(&h.HostRules, claims, list)
	if h.Required {
		checks = slices.Insert(checks, 0, rule.Check[T](eachClaim[T]{hostsRequired{}, claims}))
	}
	return checks
}

// Claimant returns the claims of an object. The view of the object keeps them.
type Claimant[T any] func(obj *T, r *rule.Recorder) *Set

// Checks compiles rules for one kind of object. It returns no checks if h is nil. list is the field that contains the
// hosts.
func Checks[T any](h *HostRules, claims Claimant[T], list string) []rule.Check[T] {
	if h == nil {
		return nil
	}
	var checks []rule.Check[T]
	add := func(c hostCheck) { checks = append(checks, eachClaim[T]{c, claims}) }
	if h.Allowed != nil {
		add(hostsAllowed{match.NewHostTemplates(h.Allowed), rule.Passing(text.Strings(h.Allowed))})
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

// hostCheck is a check that evaluates one claim at a time.
type hostCheck interface {
	// id returns the field of the rule, for example hosts.allowed.
	id() string
	// passes reports whether a claim passes. All claims of an object share the lookup.
	passes(h *Claim, lookup *hostLookup) bool
	// reason returns the sentence about a claim that does not pass. namespace is the namespace of the object.
	reason(h *Claim, namespace string) string
}

// eachClaim runs a hostCheck on each claim of an object.
type eachClaim[T any] struct {
	hostCheck
	claims Claimant[T]
}

func (c eachClaim[T]) Find(obj *T, r *rule.Recorder) {
	claims := c.claims(obj, r)
	claims.lookup = hostLookup{namespace: r.Subject.Namespace}
	for i := range claims.List {
		h := &claims.List[i]
		if !r.Spend(h.steps()) {
			return
		}
		if c.passes(h, &claims.lookup) || claims.repeated(i, r) {
			continue
		}
		if f := r.TryAdd(h.identity(c.id())); f != nil {
			f.Path, f.Reason = h.at.String(), c.reason(h, r.Subject.Namespace)
		}
	}
}

// hostsRequired is hosts.required. It finds each claim of every host, such as a rule without a host, an Ingress without
// rules, a default backend next to rules, and a route without hostnames.
type hostsRequired struct{}

func (hostsRequired) id() string { return "hosts.required" }

func (hostsRequired) passes(h *Claim, _ *hostLookup) bool { return !h.IsEvery() }

func (hostsRequired) reason(h *Claim, _ string) string { return h.at.every() + h.at.setOne() }

// hostsAllowed is hosts.allowed. It finds each host that no pattern covers. A wildcard passes only if one pattern
// covers every host that it covers in its field. For example, *.a.example in a rule passes if the list contains
// *.a.example or **.example, but not if it contains x.a.example. In an external-dns annotation, *.a.example covers
// names at any depth, so it passes only with a ** pattern. An absent host and a default backend pass only with the
// pattern **.
type hostsAllowed struct {
	patterns *match.HostTemplates
	passing  string // the end of its sentences
}

func (hostsAllowed) id() string { return "hosts.allowed" }

func (c hostsAllowed) passes(h *Claim, lookup *hostLookup) bool {
	return lookup.find(c.patterns.Patterns(), h) || c.patterns.CoversIn(lookup.namespace, h.HostPattern)
}

func (c hostsAllowed) reason(h *Claim, namespace string) string {
	allowed := c.passing
	if namespace != "" {
		allowed = strings.ReplaceAll(allowed, match.NamespacePlaceholder, text.Name(namespace))
	}
	if h.IsEvery() {
		return h.at.every() + allowed
	}
	return h.quoted() + " is not allowed" + allowed
}

// hostsDenied is hosts.denied. It finds each host that covers any host of a pattern. For example, the pattern
// **.example denies *.example. The pattern a.example denies *.example too, because the wildcard would also serve
// requests for a.example. An absent host covers every host.
//
// A wildcard in a rule covers one label, as the Ingress specification requires, except for the classes in
// globbingClasses.
type hostsDenied struct{ denied *match.HostOverlaps }

func (hostsDenied) id() string { return "hosts.denied" }

func (c hostsDenied) passes(h *Claim, _ *hostLookup) bool {
	_, how := c.denied.Find(h.HostPattern)
	return how == match.NoOverlap
}

func (c hostsDenied) reason(h *Claim, _ string) string {
	switch by, how := c.denied.Find(h.HostPattern); how {
	case match.OverlapEvery:
		return h.at.every() + ", including the denied " + by.String() + h.at.setOne()
	case match.OverlapWildcard:
		return h.quoted() + " also covers the denied " + by.String() + "; write each host out"
	default:
		return h.quoted() + " is denied by " + by.String()
	}
}

// hostsWildcards is hosts.wildcards. It finds each host with a star, each absent host, and a default backend.
type hostsWildcards struct{}

func (hostsWildcards) id() string { return "hosts.wildcards" }

func (hostsWildcards) passes(h *Claim, _ *hostLookup) bool { return h.Depth == match.HostItself }

func (hostsWildcards) reason(h *Claim, _ string) string {
	if h.IsEvery() {
		return h.at.every() + "; write each host out"
	}
	return h.quoted() + " is a wildcard, which is denied; write each host out"
}

// hostsMax is hosts.max. It finds an object with more different hosts than the limit. An absent host counts as one
// host.
type hostsMax[T any] struct {
	claims Claimant[T]
	most   int
	list   string // the field that contains the hosts
}

func (c hostsMax[T]) Find(obj *T, r *rule.Recorder) {
	claims := c.claims(obj, r)
	if len(claims.List) <= c.most {
		return // no need to count
	}
	if n := claims.differentHosts(r); n > c.most {
		r.Add(rule.Identity{Check: "hosts.max", Count: n}, c.list,
			fmt.Sprintf("has %d different hosts; at most %d are allowed", n, c.most))
	}
}
