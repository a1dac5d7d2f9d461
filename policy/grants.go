package policy

import (
	"errors"
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Grant is the part of a ReferenceGrant that decisions depend on. Each element of From may refer to what each element
// of To names, in the namespace of the object.
type Grant struct {
	Meta
	From []GrantFrom
	To   []GrantTo
}

// grantView is a ReferenceGrant. Its checks parse nothing.
type grantView struct {
	*Grant
	view
}

func viewGrant(g *Grant) grantView { return grantView{Grant: g} }

// grantRules compiles the rules for ReferenceGrants.
func grantRules(b *blocks, c *compilation) rules {
	return rulesOf(b.Grants, c, func(e *grantsEntry) rule[grantView] {
		return rule[grantView]{e.ruleHeader, e.checks()}
	})
}

// EvaluateGrant evaluates a ReferenceGrant. old is the object before an update, nil otherwise.
func (p *Policy) EvaluateGrant(a Attributes, g, old *Grant, e *Effort) ([]Finding, error) {
	return evaluate(rulesFor[grantView](p, Grants), a, viewGrant, g, old, e)
}

// ExplainGrant returns for every grants rule whether it applies to the ReferenceGrant.
func (p *Policy) ExplainGrant(a Attributes, g *Grant) []RuleTrace {
	return explain(rulesFor[grantView](p, Grants), a, viewGrant, g)
}

// GrantFrom is one element of spec.from: the objects of a kind in a namespace.
type GrantFrom struct {
	Group, Kind, Namespace string
}

// GrantTo is one element of spec.to: an object of a kind, all of them where Name is empty.
type GrantTo struct {
	Group, Kind, Name string
}

// grantsEntry is an entry of grants: a rule for ReferenceGrants. An absent block checks nothing, and at least one is
// required.
//
// A grant is a pair of one element of spec.from and one of spec.to, and findings are about pairs: an update that adds
// an element makes new grants with all that stood in the object before.
type grantsEntry struct {
	ruleHeader
	// From: to whom references may be granted.
	From *grantFromRules `yaml:"from"`
	// To: what may be granted.
	To *grantToRules `yaml:"to"`
}

// grantFromRules is the field from: {namespaces: [gateways, "team-*"], kinds: [HTTPRoute]}.
type grantFromRules struct {
	// Namespaces lists the namespaces that may be named, * for any run of characters. [] denies all.
	Namespaces []match.Glob `yaml:"namespaces"`
	// Kinds lists the kinds that may be named, * for any run of characters: HTTPRoute, for a kind of
	// gateway.networking.k8s.io, and IngressRoute.traefik.io for one of another group. [] denies all.
	Kinds []match.Glob `yaml:"kinds"`
}

// grantToRules is the field to: {kinds: [Service], names: required}.
type grantToRules struct {
	// Kinds lists the kinds that may be granted, * for any run of characters: Service, for a kind of the core group, and
	// ServiceImport.multicluster.x-k8s.io for one of another group. [] denies all.
	Kinds []match.Glob `yaml:"kinds"`
	// Names: required means that each element must name one object.
	Names requirement `yaml:"names"`
}

// requirement is a field whose only value is required.
type requirement bool

// UnmarshalText accepts the word required.
func (q *requirement) UnmarshalText(b []byte) error {
	if string(b) != "required" {
		return fmt.Errorf("%s is not known here: write required, or leave the field out", text.Quote(b))
	}
	*q = true
	return nil
}

// maxLabel is the length of the longest kind, in bytes: that of a DNS label.
const maxLabel = 63

// kindBeside returns a kind as policy files write it: with its group behind a dot, unless that is the usual one. What
// is longer than kinds and groups are is truncated.
func kindBeside(usual, group, kind string) string {
	if group == usual {
		return kind
	}
	return text.Truncate(kind, maxLabel) + "." + text.Truncate(group, match.MaxHost)
}

// Suggest implements strict.Suggester.
func (e *grantsEntry) Suggest(field string) []string { return grantDimensions().suggest(field) }

// Validate implements strict.Validator.
func (e *grantsEntry) Validate() error {
	err := e.header.validate(grantDimensions())
	if e.From == nil && e.To == nil {
		return errors.Join(err, errNoCheck("from or to"))
	}
	return err
}

// Validate implements strict.Validator.
func (b *grantFromRules) Validate() error {
	if b.Namespaces == nil && b.Kinds == nil {
		return errNoCheck("namespaces or kinds")
	}
	var faults strict.Faults
	for _, g := range b.Namespaces {
		if err := match.Namespaces().Check(g); err != nil {
			faults.Fieldf("namespaces", "%v", err)
		}
	}
	return faults.Err()
}

// Validate implements strict.Validator.
func (b *grantToRules) Validate() error {
	if b.Kinds == nil && !bool(b.Names) {
		return errNoCheck("kinds or names: required")
	}
	return nil
}

// checks compiles the entry. Findings come in the order of its fields.
func (e *grantsEntry) checks() []check[grantView] {
	var cs []check[grantView]
	if e.From != nil && e.From.Namespaces != nil {
		cs = append(cs, grantCheck{from: grantFromNamespaces{e.From.Namespaces, passing(e.From.Namespaces)}})
	}
	if e.From != nil && e.From.Kinds != nil {
		cs = append(cs, grantCheck{from: grantFromKinds{e.From.Kinds, passing(e.From.Kinds)}})
	}
	if e.To != nil && e.To.Kinds != nil {
		cs = append(cs, grantCheck{to: grantToKinds{e.To.Kinds, passing(e.To.Kinds)}})
	}
	if e.To != nil && bool(e.To.Names) {
		cs = append(cs, grantCheck{to: grantToNames{}})
	}
	return cs
}

func (f *GrantFrom) kind() string { return kindBeside(gatewayGroup, f.Group, f.Kind) }
func (t *GrantTo) kind() string   { return kindBeside("", t.Group, t.Kind) }

// String says who is granted something: HTTPRoute of "team-a".
func (f *GrantFrom) String() string {
	return text.Truncate(f.kind(), text.Short) + " of " + text.Quote(f.Namespace)
}

// String says what is granted: Secret "web", or Secret for all of them.
func (t *GrantTo) String() string {
	s := text.Truncate(t.kind(), text.Short)
	if t.Name != "" {
		s += " " + text.Quote(t.Name)
	}
	return s
}
