package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

const shopAndBank = `
owners:
- {name: corp, mode: enforce, hosts: ["**.corp.example"], namespaces: [platform]}
- {name: shop, mode: enforce, hosts: [shop.corp.example, "**.shop.corp.example"], namespaces: ["shop-*"], message: "ask #shop"}
- {name: bank, mode: enforce, hosts: ["*.bank.example"], namespaces: [bank, bank-eu]}
- {name: pay, mode: enforce, hosts: [pay.bank.example], namespaces: [pay]}
- {name: reserved, mode: enforce, hosts: [reserved.example], namespaces: []}
- {name: shared, mode: enforce, hosts: [shared.example], namespaces: ["*"]}
`

// Each sentence in the specification of owners.
func TestOwners(t *testing.T) {
	p := mustLoad(t, shopAndBank)
	for name, test := range map[string]struct {
		namespace string
		host      string
		want      []string
	}{
		"its owner":                       {"shop-eu", "shop.corp.example", nil},
		"below it":                        {"shop-eu", "a.b.shop.corp.example", nil},
		"of no entry":                     {"anyone", "free.example", nil},
		"as DNS compares":                 {"anyone", "SHOP.corp.example.", []string{`shop/owners: spec.rules[0].host: "shop.corp.example" belongs to the namespaces shop-* (ask #shop)`}},
		"the most exact entry":            {"platform", "shop.corp.example", []string{`shop/owners: spec.rules[0].host: "shop.corp.example" belongs to the namespaces shop-* (ask #shop)`}},
		"the entry above":                 {"shop-eu", "other.corp.example", []string{`corp/owners: spec.rules[0].host: "other.corp.example" belongs to the namespaces platform`}},
		"one label, not two":              {"anyone", "a.b.bank.example", nil},
		"one label":                       {"pay", "a.bank.example", []string{`bank/owners: spec.rules[0].host: "a.bank.example" belongs to the namespaces bank, bank-eu`}},
		"itself before the star":          {"bank", "pay.bank.example", []string{`pay/owners: spec.rules[0].host: "pay.bank.example" belongs to the namespaces pay`}},
		"of no namespace":                 {"platform", "reserved.example", []string{`reserved/owners: spec.rules[0].host: "reserved.example" does not belong to any namespace`}},
		"an object without a namespace":   {"", "shop.corp.example", []string{`shop/owners: spec.rules[0].host: "shop.corp.example" belongs to the namespaces shop-* (ask #shop)`}},
		"of every namespace":              {"anyone", "shared.example", nil},
		"of every namespace, without one": {"", "shared.example", []string{`shared/owners: spec.rules[0].host: "shared.example" belongs to the namespaces *`}},
		"a wildcard, its own":             {"pay", "*.bank.example", []string{`bank/owners: spec.rules[0].host: "*.bank.example" belongs to the namespaces bank, bank-eu`}},
		"a wildcard over a foreign host": {"bank", "*.bank.example", []string{
			`pay/owners: spec.rules[0].host: "*.bank.example" also covers hosts of pay.bank.example, which belongs to the namespaces pay; write each host out`}},
		"a wildcard that meets entries below": {"platform", "*.corp.example", []string{
			`shop/owners: spec.rules[0].host: "*.corp.example" also covers hosts of shop.corp.example, which belongs to the namespaces shop-*; write each host out (ask #shop)`}},
		"a wildcard below an entry": {"bank", "*.x.shop.corp.example", []string{
			`shop/owners: spec.rules[0].host: "*.x.shop.corp.example" also covers hosts of **.shop.corp.example, which belongs to the namespaces shop-*; write each host out (ask #shop)`}},
		"a wildcard of which a nearer entry has all": {"shop-eu", "*.shop.corp.example", nil},
		"every host": {"bank", "", []string{
			`pay/owners: spec.rules[0].host: no host means every host, including pay.bank.example, which belongs to the namespaces pay; set one`}},
	} {
		t.Run(name, func(t *testing.T) {
			a := object.Attributes{Operation: object.Create, Namespace: test.namespace}
			got := sentences(must(p.EvaluateIngress(a, withHosts(test.host), nil, nil)))
			equal(t, test.want, got)
		})
	}
}

// Findings of owners and of hosts are both reported, and a finding of one does not hide a finding of the other.
func TestOwnersAndHosts(t *testing.T) {
	p := mustLoad(t, shopAndBank+`ingresses: [{name: all, mode: enforce, hosts: {allowed: ["*.bank.example"]}}]
`)
	want := []string{
		`all/hosts.allowed: spec.rules[0].host: "shop.corp.example" is not allowed; allowed: *.bank.example`,
		`shop/owners: spec.rules[0].host: "shop.corp.example" belongs to the namespaces shop-* (ask #shop)`,
		`bank/owners: spec.rules[1].host: "a.bank.example" belongs to the namespaces bank, bank-eu`,
	}
	a := object.Attributes{Operation: object.Create, Namespace: "team"}
	got := sentences(must(p.EvaluateIngress(a, withHosts("shop.corp.example", "a.bank.example"), nil, nil)))
	equal(t, want, got)
}

// A host in an annotation, or in a Service, is claimed too.
func TestOwnersOfAnnotations(t *testing.T) {
	p := mustLoad(t, shopAndBank)
	svc := &object.Service{Meta: object.Meta{Annotations: map[string]string{"external-dns.alpha.kubernetes.io/hostname": "shop.corp.example"}}}
	want := []string{`shop/owners: metadata.annotations["external-dns.alpha.kubernetes.io/hostname"]: "shop.corp.example" belongs to the namespaces shop-* (ask #shop)`}
	equal(t, want, sentences(must(p.EvaluateService(object.Attributes{Operation: object.Create, Namespace: "team"}, svc, nil, nil))))
}

// An entry takes hosts only from entries in its mode and in weaker modes, and not from entries in mode off.
func TestModesOfOwners(t *testing.T) {
	for name, test := range map[string]struct {
		outer, inner string
		namespace    string
		want         string
	}{
		"weaker inside":          {"enforce", "warn", "inner", "outer enforce"},
		"weaker inside, foreign": {"enforce", "warn", "outer", "inner warn"},
		"both foreign":           {"enforce", "audit", "other", "outer enforce, inner audit"},
		"stricter inside":        {"warn", "enforce", "outer", "inner enforce"},
		"stricter inside, own":   {"warn", "enforce", "inner", ""},
		"off inside":             {"enforce", "off", "outer", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, fmt.Sprintf(`
owners:
- {name: outer, mode: %s, hosts: ["**.example"], namespaces: [outer]}
- {name: inner, mode: %s, hosts: [a.example], namespaces: [inner]}
`, test.outer, test.inner))
			var got []string
			for _, f := range must(p.EvaluateIngress(object.Attributes{Operation: object.Create, Namespace: test.namespace}, withHosts("a.example"), nil, nil)) {
				got = append(got, f.Rule+" "+f.Mode.String())
			}
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// An update that adds a claim to an old object is denied. A claim that the object already had warns, except a host that
// was only in spec.tls or in an annotation.
func TestOwnersOfOldObjects(t *testing.T) {
	p := mustLoad(t, shopAndBank)
	a := object.Attributes{Operation: object.Update, Namespace: "team"}
	got := map[string]bool{}
	old := withTLS(withHosts("x.example"), "b.bank.example")
	old.Annotations = map[string]string{"external-dns.kubernetes.io/hostname": "a.bank.example"}
	for _, f := range must(p.EvaluateIngress(a, withHosts("a.bank.example", "b.bank.example"), old, nil)) {
		got[f.Path] = f.Existed
	}
	equal(t, map[string]bool{"spec.rules[0].host": false, "spec.rules[1].host": false}, got)
}

func TestOwnersErrors(t *testing.T) {
	for entries, want := range map[string]string{
		`[{name: a, mode: enforce, hosts: [a.example], namespaces: [x]}, {name: b, mode: warn, hosts: [A.example.], namespaces: [y]}]`: `owners[1]: the host a.example is owned by a (policy.yaml:3:10): a host has one owner`,
		`[{name: a, mode: enforce, hosts: [], namespaces: [x]}]`:                                                                       `owners[0].hosts: [] owns nothing: leave the entry out`,
		`[{name: a, mode: enforce, hosts: [a.example]}]`:                                                                               `owners[0]: namespaces is required`,
		`[{name: a, mode: enforce, hosts: [a.example], namespaces: ["^x$"]}]`:                                                          `owners[0].namespaces: "^x$" matches nothing: a namespace is written with lower case letters, digits and -, at most 63; write x`,
		`[{name: a, mode: enforce, hosts: [a.example], namespaces: [x], match: {namespaces: [x]}}]`:                                    `owners[0].match: has no meaning here: namespaces lists the owners of the hosts`,
		`[{name: a, mode: enforce, hosts: ["{namespace}.a.example"], namespaces: [x]}]`:                                                `"{namespace}.a.example" is not a host pattern: {namespace} is supported only in hosts.allowed: write the name, or a wildcard`,
		`[{name: a, mode: enforce, hosts: ["a.*"], namespaces: [x]}]`:                                                                  `is not a host pattern`,
	} {
		_, err := Load(File{Name: "policy.yaml", Data: []byte("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nowners: " + entries + "\n")})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", entries, err, want)
		}
	}
	// An entry in mode off does not own anything.
	mustLoad(t, `
owners: [{name: a, mode: off, hosts: [a.example], namespaces: [x]}, {name: b, mode: warn, hosts: [a.example], namespaces: [y]}]
`)
}

// BenchmarkOwners evaluates an Ingress of ten hosts with fifty thousand owned hosts, and with none.
func BenchmarkOwners(b *testing.B) {
	var many strings.Builder
	many.WriteString("owners:\n")
	for i := range 500 {
		fmt.Fprintf(&many, "- {name: team-%d, mode: enforce, namespaces: [\"team-%[1]d-*\"], hosts: [", i)
		for j := range 100 {
			fmt.Fprintf(&many, "h%d.team-%d.example,", j, i)
		}
		many.WriteString("]}\n")
	}
	const rule = "\ningresses: [{name: r, mode: enforce, hosts: {allowed: [\"**.example\"]}}]\n"
	for name, text := range map[string]string{"none": rule, "50000": rule + many.String()} {
		b.Run(name, func(b *testing.B) {
			p := mustLoad(b, text)
			a := object.Attributes{Operation: object.Create, Namespace: "team-7-x"}
			var hosts []string
			for i := range 10 {
				hosts = append(hosts, fmt.Sprintf("h%d.team-7.example", i))
			}
			ing := withHosts(hosts...)
			b.ReportAllocs()
			for b.Loop() {
				if found := must(p.EvaluateIngress(a, ing, nil, nil)); len(found) > 0 {
					b.Fatal(sentences(found))
				}
			}
		})
	}
}
