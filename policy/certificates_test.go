package policy

import (
	"path/filepath"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/policy/object"
)

// Every directory in testdata/certificates has a policy.yaml and manifests, with the expected sentences at the top of
// each.
func TestCertificateManifests(t *testing.T) {
	testManifests(t, "certificates", func(p *Policy, manifest []byte) []Finding {
		return must(Certificates.Evaluate(p, object.Attributes{Operation: object.Create}, readCertificate(t, manifest), nil, nil))
	})
}

func TestDNSEndpointManifests(t *testing.T) {
	testManifests(t, "dnsEndpoints", func(p *Policy, manifest []byte) []Finding {
		return must(DNSEndpoints.Evaluate(p, object.Attributes{Operation: object.Create}, readDNSEndpoint(t, manifest), nil, nil))
	})
}

// testManifests evaluates each manifest below testdata/kind with the policy.yaml next to it, and compares the
// sentences.
func testManifests(t *testing.T, kind string, evaluate func(p *Policy, manifest []byte) []Finding) {
	t.Helper()
	for _, path := range testdata(t, kind+"/*/*.yaml") {
		if filepath.Base(path) == "policy.yaml" {
			continue
		}
		t.Run(strings.TrimPrefix(path, "testdata/"), func(t *testing.T) {
			text := readFile(t, path)
			got := sentences(evaluate(mustLoadBeside(t, path), text))
			if diff := cmp.Diff(marked(text, wantMark), got); diff != "" {
				t.Error(diff)
			}
			checkName(t, path, got)
		})
	}
}

// readCertificate reads a manifest with the types of cert-manager.
func readCertificate(t testing.TB, manifest []byte) *object.Certificate {
	t.Helper()
	var in certmanagerv1.Certificate
	if err := yaml.UnmarshalStrict(manifest, &in); err != nil {
		t.Fatal(err)
	}
	return &object.Certificate{
		Meta:       object.Meta{Name: in.Name, Namespace: in.Namespace, Labels: in.Labels, Annotations: in.Annotations},
		CommonName: in.Spec.CommonName, LiteralSubject: in.Spec.LiteralSubject, DNSNames: in.Spec.DNSNames,
		URIs: in.Spec.URIs, IPAddresses: in.Spec.IPAddresses,
	}
}

// readDNSEndpoint reads a manifest with local types, because the types of external-dns need a newer Go.
func readDNSEndpoint(t testing.TB, manifest []byte) *object.DNSEndpoint {
	t.Helper()
	var in struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Endpoints []struct {
				DNSName    string   `json:"dnsName"`
				RecordType string   `json:"recordType"`
				Targets    []string `json:"targets"`
			} `json:"endpoints"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(manifest, &in); err != nil {
		t.Fatal(err)
	}
	out := &object.DNSEndpoint{Meta: object.Meta{Name: in.Name, Namespace: in.Namespace, Labels: in.Labels}}
	for _, e := range in.Spec.Endpoints {
		out.Endpoints = append(out.Endpoints, object.Endpoint{DNSName: e.DNSName})
	}
	return out
}

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
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check(must(Certificates.Evaluate(p, update, crt, old, nil)), want)

	records := &object.DNSEndpoint{Endpoints: []object.Endpoint{{DNSName: "*.shop.corp.example"}, {DNSName: "a.b.bank.example"}, {DNSName: "*.bank.example"}}}
	check(must(DNSEndpoints.Evaluate(p, update, records, &object.DNSEndpoint{Endpoints: []object.Endpoint{{DNSName: "*.shop.corp.example"}}}, nil)), []string{
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
		crt := must(Certificates.Evaluate(p, a, &object.Certificate{CommonName: "a.corp", DNSNames: []string{"b.corp"}}, &object.Certificate{DNSNames: []string{"a.corp"}}, nil))
		dns := must(DNSEndpoints.Evaluate(p, a, &object.DNSEndpoint{Endpoints: []object.Endpoint{{DNSName: "b.corp"}, {DNSName: "c.corp"}}}, &object.DNSEndpoint{Endpoints: []object.Endpoint{{DNSName: "c.corp"}}}, nil))
		var got []string
		for _, f := range append(crt, dns...) {
			if f.Denies() {
				got = append(got, f.Path)
			}
		}
		if diff := cmp.Diff([]string{"spec.dnsNames[0]", "spec.endpoints[0].dnsName"}, got); diff != "" {
			t.Errorf("%s: %s", rule, diff)
		}
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
