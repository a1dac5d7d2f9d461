package policy

import (
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// grantsRule is a policy of one grants entry with the given fields, in one line.
func grantsRule(fields string) string {
	return "grants:\n- name: r\n  mode: enforce\n  " + fields + "\n"
}

// grantOf is a ReferenceGrant: from namespaces to Secrets of names.
func grantOf(from []string, to ...string) *object.Grant {
	g := &object.Grant{}
	for _, n := range from {
		g.From = append(g.From, object.GrantElement{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Name: n})
	}
	for _, n := range to {
		g.To = append(g.To, object.GrantElement{Group: "", Kind: "Secret", Name: n})
	}
	return g
}

func from(namespaces ...string) []string { return namespaces }

// An update of a grant that does not pass may remove elements, but must not add elements on either side.
func TestGrantRatchet(t *testing.T) {
	const namespaces, kinds = `from: {namespaces: [ok]}`, `to: {kinds: [Service]}`
	withKind := func(g *object.Grant, kind string) *object.Grant {
		g.From[0].Kind = kind
		return g
	}
	for name, test := range map[string]struct {
		rule     string
		old, new *object.Grant
		want     []string
	}{
		"unchanged":        {namespaces, grantOf(from("a"), "x"), grantOf(from("a"), "x"), nil},
		"reordered":        {namespaces, grantOf(from("a", "b"), "x", "y"), grantOf(from("b", "a"), "y", "x"), nil},
		"one is taken":     {namespaces, grantOf(from("a", "b"), "x", "y"), grantOf(from("b"), "y"), nil},
		"a good one added": {namespaces, grantOf(from("a"), "x"), grantOf(from("a", "ok"), "x"), nil},
		"a bad one added": {namespaces, grantOf(from("a"), "x"), grantOf(from("a", "b"), "x"), []string{
			`r/from.namespaces: spec.from[1].namespace: "b" is not allowed; allowed: ok`}},
		"a bad one added before another": {namespaces, grantOf(from("a"), "x"), grantOf(from("b", "a"), "x", "y"), []string{
			`r/from.namespaces: spec.from[0].namespace: "b" is not allowed; allowed: ok`}},
		"another kind": {namespaces, grantOf(from("a"), "x"), withKind(grantOf(from("a"), "x"), "Gateway"), []string{
			`r/from.namespaces: spec.from[0].namespace: "a" is not allowed; allowed: ok`}},
		"more is granted to a bad one": {namespaces, grantOf(from("a", "ok"), "x"), grantOf(from("a", "ok"), "x", "y"), []string{
			`r/from.namespaces: spec.to[1]: Secret "y" is granted to HTTPRoute of "a", which is not allowed; remove one of them`}},
		"all is granted to a bad one": {namespaces, grantOf(from("a"), "x"), grantOf(from("a"), ""), []string{
			`r/from.namespaces: spec.to[0]: Secret is granted to HTTPRoute of "a", which is not allowed; remove one of them`}},
		"a bad one, to one more": {kinds, grantOf(from("a"), "x"), grantOf(from("a", "b"), "x"), []string{
			`r/to.kinds: spec.from[1]: HTTPRoute of "b" is granted Secret "x", which is not allowed; remove one of them`}},
		"all of a kind, to one more": {`to: {names: required}`, grantOf(from("a"), ""), grantOf(from("a", "b"), ""), []string{
			`r/to.names: spec.from[1]: HTTPRoute of "b" is granted Secret, which is not allowed; remove one of them`}},
		"what looks like an old element of the other side": {namespaces,
			&object.Grant{From: []object.GrantElement{{Group: "", Kind: "Secret", Name: "x"}}, To: []object.GrantElement{{Group: "", Kind: "Service", Name: "y"}}},
			&object.Grant{From: []object.GrantElement{{Group: "", Kind: "Secret", Name: "x"}}, To: []object.GrantElement{{Group: "", Kind: "Secret", Name: "x"}}}, []string{
				`r/from.namespaces: spec.to[0]: Secret "x" is granted to Secret. of "x", which is not allowed; remove one of them`}},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, test.want, denying(must(Grants.Evaluate(mustLoad(t, grantsRule(test.rule)), object.Attributes{Operation: object.Update}, test.new, test.old, nil))))
		})
	}
}

// The evaluation of a grant takes steps for each element, and not for each pair of elements.
func TestGrantEffort(t *testing.T) {
	names := strings.Fields(strings.Repeat("n ", 5000))
	g := grantOf(names, names...)
	e := new(Effort)
	p := mustLoad(t, grantsRule(`from: {namespaces: [ok]}`))
	if _, err := Grants.Evaluate(p, object.Attributes{Operation: object.Update}, g, g, e); err != nil || e.Steps() > 16*len(names) {
		t.Errorf("%d steps, %v", e.Steps(), err)
	}
}

func TestGrantsEntryErrors(t *testing.T) {
	testErrors(t, "grants", grantsRule, map[string]string{
		"message: none":              ": checks nothing: write from or to",
		"from: {}":                   "from: checks nothing: write namespaces or kinds",
		"to: {}":                     "to: checks nothing: write kinds or names: required",
		"to: {names: optional}":      `to.names: "optional" is not known here: write required, or leave the field out`,
		"from: {namespaces: [Team]}": `from.namespaces: "Team" matches nothing: a namespace is written with lower case letters, digits and -, at most 63; write team`,
		"to: {kinds: []}\n  match: {gatewayClassNames: [edge]}": "match: gatewayClassNames has no meaning here: only gateways entries match Gateway classes",
	})
}
