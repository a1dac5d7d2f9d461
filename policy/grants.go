package policy

import (
	"errors"
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// grantView is the view of a ReferenceGrant. Its checks do not parse values.
type grantView struct {
	*object.Grant
	view
}

func viewGrant(g *object.Grant) grantView { return grantView{Grant: g} }

func grantRules(b *blocks, c *compilation) rules[object.Grant] {
	return rulesOf(b.Grants, c, viewGrant, func(e *grantsEntry) rule.Rule[grantView] {
		return rule.New(e.RuleHeader, e.checks())
	}, nil)
}

// grantsEntry is an entry of grants: a rule for ReferenceGrants. An absent block does not check anything. At least one
// block is required.
//
// A grant is a pair of an element of spec.from and an element of spec.to, and findings are about pairs. An update that
// adds an element creates a grant with every existing element of the other side.
type grantsEntry struct {
	rule.RuleHeader
	// From restricts the objects that may receive a grant.
	From *grantFromRules `yaml:"from"`
	// To restricts the objects to which a grant may give access.
	To *grantToRules `yaml:"to"`
}

// grantFromRules is the from field of a grants entry: {namespaces: [gateways, "team-*"], kinds: [HTTPRoute]}.
type grantFromRules struct {
	// Namespaces lists the namespaces that spec.from may contain, * for any run of characters. [] denies all.
	Namespaces []match.Glob `yaml:"namespaces"`
	// Kinds lists the kinds that spec.from may contain, * for any run of characters: HTTPRoute for a kind of
	// gateway.networking.k8s.io, and IngressRoute.traefik.io for a kind of another group. [] denies all.
	Kinds []match.Glob `yaml:"kinds"`
}

// grantToRules is the to field of a grants entry: {kinds: [Service], names: required}.
type grantToRules struct {
	// Kinds lists the kinds that may be granted, * for any run of characters: Service for a kind of the core group, and
	// ServiceImport.multicluster.x-k8s.io for a kind of another group. [] denies all.
	Kinds []match.Glob `yaml:"kinds"`
	// Names: required means that each element must contain the name of one object.
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

func (e *grantsEntry) Suggest(field string) []string {
	return rule.ClasslessDimensions().Suggest(field)
}

func (e *grantsEntry) Validate() error {
	return errors.Join(e.Header.ValidateFor(rule.ClasslessDimensions()), rule.RejectNone(e.checks(), "from or to"))
}

func (b *grantFromRules) Validate() error {
	if b.Namespaces == nil && b.Kinds == nil {
		return rule.ErrNoCheck("namespaces or kinds")
	}
	var faults strict.Faults
	for _, g := range b.Namespaces {
		if err := match.Namespaces().Check(g); err != nil {
			faults.Fieldf("namespaces", "%v", err)
		}
	}
	return faults.Err()
}

func (b *grantToRules) Validate() error {
	if b.Kinds == nil && !bool(b.Names) {
		return rule.ErrNoCheck("kinds or names: required")
	}
	return nil
}

// checks compiles the entry. Findings have the order of its fields.
func (e *grantsEntry) checks() []rule.Check[grantView] {
	var from grantFromRules
	if e.From != nil {
		from = *e.From
	}
	var to grantToRules
	if e.To != nil {
		to = *e.To
	}
	return rule.Checks(
		rule.When(from.Namespaces != nil, grantCheck{"from.namespaces", grantFrom, "namespace", from.Namespaces}),
		rule.When(from.Kinds != nil, grantCheck{"from.kinds", grantFrom, "kind", from.Kinds}),
		rule.When(to.Kinds != nil, grantCheck{"to.kinds", grantTo, "kind", to.Kinds}),
		rule.When(to.Names, grantCheck{"to.names", grantTo, "name", nil}),
	)
}
