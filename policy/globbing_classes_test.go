package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/object"
)

// *.x in a rule of an Ingress covers names at any depth only if its class is listed.
func TestGlobbingClasses(t *testing.T) {
	const rules = "globbingClasses: ['own-*', '!own-b', '!nginx', '!haproxy', haproxy]\n" + `
ingresses: [{name: r, mode: enforce, hosts: {allowed: ["*.a.example"]}, tls: {coversHosts: true}}]
owners: [{name: shop, mode: enforce, hosts: [www.eu.a.example], namespaces: [shop]}]
`
	const text = `spec.rules[0].host: "*.a.example" (names at any depth) `
	denied := []string{
		"r/hosts.allowed: " + text + "is not allowed; allowed: *.a.example",
		"shop/owners: " + text + "also covers hosts of www.eu.a.example, which belongs to the namespaces shop; write each host out",
	}
	class := func(name string) *object.Ingress {
		ing := withTLS(withHosts("*.a.example"), "*.a.example")
		ing.ClassName = new(name)
		return ing
	}
	annotated := class("traefik")
	annotated.Annotations = map[string]string{"kubernetes.io/ingress.class": "alb"}
	uncovered := class("alb")
	uncovered.TLS = []object.IngressTLS{{Hosts: []string{"b.a.example"}}}
	exact := class("alb")
	exact.Rules[0].Host = "x.a.example"
	unset := class("")
	unset.ClassName = nil
	for name, test := range map[string]struct {
		ing  *object.Ingress
		want []string
	}{
		"by default":                {class("alb"), denied},
		"by a pattern":              {class("own-a"), denied},
		"with and without !":        {class("own-b"), denied},
		"with ! first, and without": {class("haproxy"), denied},
		"in the annotation":         {annotated, denied},
		"after !":                   {class("nginx"), nil},
		"one label by default":      {class("traefik"), nil},
		"another class":             {class("alb-internal"), nil},
		"none":                      {unset, nil},
		"a name":                    {exact, nil},
		"no certificate": {uncovered, []string{
			denied[0], `r/tls.coversHosts: spec.rules[0].host: "*.a.example" is not in any spec.tls[].hosts; add it`, denied[1],
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := object.Attributes{Operation: object.Create, Namespace: "team"}
			got := sentences(must(mustLoad(t, rules).EvaluateIngress(a, test.ing, nil, nil)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	// An update that only changes the class claims hosts that the Ingress did not have.
	a := object.Attributes{Operation: object.Update, Namespace: "team"}
	got := sentences(must(mustLoad(t, rules).EvaluateIngress(a, class("alb"), class("traefik"), nil)))
	if diff := cmp.Diff(denied, got); diff != "" {
		t.Error(diff)
	}
}

// The meaning of *.x is known for each class that tls.required knows.
func TestClassesOfTLSAreKnown(t *testing.T) {
	known := claim.NewAnnotations(nil, nil, nil)
	for _, class := range TLSClasses() {
		for _, name := range class.Names {
			if !known.KnowsClass(match.Glob(name)) {
				t.Errorf("%s is not known", name)
			}
		}
	}
}

func TestGlobbingClassesErrors(t *testing.T) {
	var many strings.Builder
	for i := range 21 {
		fmt.Fprintf(&many, "c%d, ", i)
	}
	for text, want := range map[string]string{
		`[""]`:                    `p:3:19: globbingClasses[0]: an empty pattern matches nothing: write "*" for everything`,
		`["!"]`:                   `p:3:19: globbingClasses[0]: an empty pattern matches nothing: write "*" for everything`,
		"[" + many.String() + "]": "p:3:18: globbingClasses: has 21 classes; at most 20 are read",
	} {
		if _, err := Load(policyFile("p", "globbingClasses: "+text+"\n")); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
