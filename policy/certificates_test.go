package policy

import (
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// Names in Certificates and records are claimed like hosts of an Ingress. A name that the old object had in any field
// warns, and an added name denies.
func TestOwnersOfNames(t *testing.T) {
	p := mustLoad(t, shopAndBank)
	update := object.Attributes{Operation: object.Update, Namespace: "team"}
	crt := &object.Certificate{CommonName: "shop.corp.example", DNSNames: []string{"a.bank.example", "b.bank.example"}}
	old := &object.Certificate{DNSNames: []string{"shop.corp.example"}, URIs: []string{"https://a.bank.example"}}
	want := []string{
		`bank/owners: spec.dnsNames[0]: "a.bank.example" belongs to the namespaces bank, bank-eu, pre-existing`,
		`bank/owners: spec.dnsNames[1]: "b.bank.example" belongs to the namespaces bank, bank-eu`,
		`shop/owners: spec.commonName: "shop.corp.example" belongs to the namespaces shop-* (ask #shop), pre-existing`,
	}
	check := func(found []Finding, want []string) {
		t.Helper()
		var got []string
		for _, f := range found {
			s := f.String()
			if f.Existed {
				s += ", pre-existing"
			}
			got = append(got, s)
		}
		equal(t, want, got)
	}
	check(must(p.EvaluateCertificate(update, crt, old, nil)), want)

	records := &object.DNSEndpoint{Endpoints: []object.Endpoint{{DNSName: "*.shop.corp.example"}, {DNSName: "a.b.bank.example"}, {DNSName: "*.bank.example"}}}
	check(must(p.EvaluateDNSEndpoint(update, records, &object.DNSEndpoint{Endpoints: []object.Endpoint{{DNSName: "*.shop.corp.example"}}}, nil)), []string{
		`shop/owners: spec.endpoints[0].dnsName: "*.shop.corp.example" (names at any depth) belongs to the namespaces shop-* (ask #shop), pre-existing`,
		`bank/owners: spec.endpoints[2].dnsName: "*.bank.example" (names at any depth) also covers hosts of *.bank.example, which belongs to the namespaces bank, bank-eu; write each host out`,
	})
}

// A pre-existing name does not deny an update, and does not exempt other names.
func TestRatchetOfNames(t *testing.T) {
	for _, rule := range []string{`allowed: ["*.example"]`, "denied: [a.corp, b.corp, c.corp]"} {
		p := mustLoad(t, "certificates: [{name: r, mode: enforce, hosts: {"+rule+"}}]\n"+
			"dnsEndpoints: [{name: s, mode: enforce, hosts: {"+rule+"}}]\n")
		a := object.Attributes{Operation: object.Update}
		crt := must(p.EvaluateCertificate(a, &object.Certificate{CommonName: "a.corp", DNSNames: []string{"b.corp"}}, &object.Certificate{DNSNames: []string{"a.corp"}}, nil))
		dns := must(p.EvaluateDNSEndpoint(a, &object.DNSEndpoint{Endpoints: []object.Endpoint{{DNSName: "b.corp"}, {DNSName: "c.corp"}}}, &object.DNSEndpoint{Endpoints: []object.Endpoint{{DNSName: "c.corp"}}}, nil))
		var got []string
		for _, f := range append(crt, dns...) {
			if f.Denies() {
				got = append(got, f.Path)
			}
		}
		equal(t, []string{"spec.dnsNames[0]", "spec.endpoints[0].dnsName"}, got, rule)
	}
}

func TestNamesEntryErrors(t *testing.T) {
	for _, block := range []string{"certificates", "dnsEndpoints"} {
		for rule, want := range map[string]string{
			"message: none":           ": checks nothing: write hosts",
			"hosts: {}":               ".hosts: checks nothing: write allowed, denied, wildcards or max",
			"hosts: {required: true}": ".hosts.required: unknown field; known here: allowed, denied, wildcards, max",
			"hosts: {max: 1}, match: {classNames: [a]}": ".match: classNames has no meaning here: only ingresses entries match Ingress classes",
			"hosts: {max: 1}, match: {podLabels: [a]}":  ".match: podLabels has no meaning here: only mirrors and pods entries match Pods",
		} {
			_, err := Load(policyFile("p", block+":\n- {name: r, mode: enforce, "+rule+"}\n"))
			if err == nil || !strings.Contains(err.Error(), ": "+block+"[0]"+want) {
				t.Errorf("%s of %s: got %v, want %s", rule, block, err, want)
			}
		}
	}
	mustLoad(t, `
certificates: [{name: c, mode: warn, match: {namespaces: [a], users: [b], groups: [c], labels: [d]}, exclude: {labels: [d=e]}, hosts: {wildcards: deny}}]
dnsEndpoints: [{name: d, mode: warn, match: {namespaces: [a], users: [b], groups: [c], labels: [d]}, exclude: {labels: [d=e]}, hosts: {wildcards: deny}}]
`)
}
