package policy

import (
	"path/filepath"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// Every directory in testdata/certificates has a policy.yaml and manifests, with the expected sentences at the top of
// each.
func TestCertificateManifests(t *testing.T) {
	testManifests(t, "certificates", func(p *Policy, manifest []byte) []Finding {
		return must(p.EvaluateCertificate(object.Attributes{Operation: object.Create}, readCertificate(t, manifest), nil, nil))
	})
}

func TestDNSEndpointManifests(t *testing.T) {
	testManifests(t, "dnsEndpoints", func(p *Policy, manifest []byte) []Finding {
		return must(p.EvaluateDNSEndpoint(object.Attributes{Operation: object.Create}, readDNSEndpoint(t, manifest), nil, nil))
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

// Each field of a Certificate that contains names, with the hosts that it claims.
func TestCertificateClaims(t *testing.T) {
	for name, test := range map[string]struct {
		crt  object.Certificate
		want string
	}{
		"nothing":         {object.Certificate{}, ""},
		"empty names":     {object.Certificate{DNSNames: []string{""}, URIs: []string{""}, IPAddresses: []string{""}, LiteralSubject: " "}, ""},
		"a name":          {object.Certificate{DNSNames: []string{"A.example."}}, "spec.dnsNames[0] a.example"},
		"a wildcard":      {object.Certificate{DNSNames: []string{"a", "*.a"}}, "spec.dnsNames[0] a, spec.dnsNames[1] *.a"},
		"two stars":       {object.Certificate{DNSNames: []string{"**.a"}}, "spec.dnsNames[0] **"},
		"a star within":   {object.Certificate{DNSNames: []string{"a.*.example"}}, "spec.dnsNames[0] **"},
		"a part of one":   {object.Certificate{DNSNames: []string{"w*.example"}}, "spec.dnsNames[0] **"},
		"an address":      {object.Certificate{DNSNames: []string{"192.0.2.1"}}, "spec.dnsNames[0] 192.0.2.1"},
		"a port":          {object.Certificate{DNSNames: []string{"a.example:443"}}, "spec.dnsNames[0] **"},
		"a nul":           {object.Certificate{DNSNames: []string{"a.example\x00.b"}}, "spec.dnsNames[0] **"},
		"a common name":   {object.Certificate{CommonName: "*.a.example"}, "spec.commonName *.a.example"},
		"a title":         {object.Certificate{CommonName: "Example (Test) Authority"}, ""},
		"a user":          {object.Certificate{CommonName: "system:node:a"}, ""},
		"a title, dotted": {object.Certificate{CommonName: "Example Inc. Authority"}, "spec.commonName **"},
		"a title, wild":   {object.Certificate{CommonName: "* Authority"}, "spec.commonName **"},
		"a title, nul":    {object.Certificate{CommonName: "a\x00b"}, "spec.commonName **"},
		"another dot":     {object.Certificate{CommonName: "www。example"}, "spec.commonName **"},

		"a subject":              {object.Certificate{LiteralSubject: "CN=a.example,O=Example"}, "spec.literalSubject a.example"},
		"a subject, blanks":      {object.Certificate{LiteralSubject: " O = Example , cn = a.example "}, "spec.literalSubject a.example"},
		"a subject, two":         {object.Certificate{LiteralSubject: "CN=a.example+CN=b.example;CN=c.example"}, "spec.literalSubject a.example, spec.literalSubject b.example, spec.literalSubject c.example"},
		"a subject, none":        {object.Certificate{LiteralSubject: "O=a.example,1.2.3=b.example,CN="}, ""},
		"a subject, a title":     {object.Certificate{LiteralSubject: "CN=Example Authority"}, ""},
		"a subject, its number":  {object.Certificate{LiteralSubject: "2.5.4.3=a.example"}, "spec.literalSubject a.example"},
		"a subject, escapes":     {object.Certificate{LiteralSubject: `O=Example\, CN=b.example,CN=a.example`}, "spec.literalSubject a.example"},
		"a subject, escaped":     {object.Certificate{LiteralSubject: `CN=a\.example`}, "spec.literalSubject **"},
		"a subject, its type":    {object.Certificate{LiteralSubject: `\43N=a.example`}, "spec.literalSubject **"},
		"a subject, encoded":     {object.Certificate{LiteralSubject: "CN=#0c0161"}, "spec.literalSubject **"},
		"a subject, quotes":      {object.Certificate{LiteralSubject: `O="a,CN=b.example"`}, "spec.literalSubject **"},
		"a subject, no type":     {object.Certificate{LiteralSubject: "a.example"}, "spec.literalSubject **"},
		"a subject, an end":      {object.Certificate{LiteralSubject: "O=a,b.example"}, "spec.literalSubject **"},
		"a subject, an unknown":  {object.Certificate{LiteralSubject: "commonName=a.example"}, "spec.literalSubject **"},
		"a subject, oid":         {object.Certificate{LiteralSubject: "OID.2.5.4.3=a.example"}, "spec.literalSubject **"},
		"a subject, zeros":       {object.Certificate{LiteralSubject: "2.5.04.3=a.example"}, "spec.literalSubject **"},
		"a subject, many":        {object.Certificate{LiteralSubject: strings.Repeat("CN=a,", 101)}, "spec.literalSubject **"},
		"a subject, a backslash": {object.Certificate{LiteralSubject: `O=a\`}, ""},

		"a URI":                 {object.Certificate{URIs: []string{"https://a.example/ns/b"}}, "spec.uris[0] a.example"},
		"a SPIFFE ID":           {object.Certificate{URIs: []string{"SPIFFE://cluster.local/ns/b"}}, ""},
		"no SPIFFE ID":          {object.Certificate{URIs: []string{"spiffe:a.example"}}, "spec.uris[0] **"},
		"a URI, with all":       {object.Certificate{URIs: []string{"https://u:p@A.example:443/p?q#f"}}, "spec.uris[0] a.example"},
		"a URI, an address":     {object.Certificate{URIs: []string{"https://[2001:DB8::1]:443/"}}, "spec.uris[0] 2001:db8::1"},
		"a URI, mapped":         {object.Certificate{URIs: []string{"https://[::ffff:192.0.2.1]/"}}, "spec.uris[0] 192.0.2.1"},
		"a URI, escaped":        {object.Certificate{URIs: []string{"https://a%2eexample/"}}, "spec.uris[0] **"},
		"a URI, urn":            {object.Certificate{URIs: []string{"urn:uuid:a.example"}}, ""},
		"a URI, URN":            {object.Certificate{URIs: []string{"URN:uuid:a.example"}}, ""},
		"a URI, opaque":         {object.Certificate{URIs: []string{"sip:u@a.example"}}, "spec.uris[0] **"},
		"a URI, no authority":   {object.Certificate{URIs: []string{"file:///a.example"}}, "spec.uris[0] **"},
		"a URI, no scheme":      {object.Certificate{URIs: []string{"//a.example"}}, "spec.uris[0] **"},
		"a URI, a wildcard":     {object.Certificate{URIs: []string{"https://*.a.example"}}, "spec.uris[0] *.a.example"},
		"a URI, backslashes":    {object.Certificate{URIs: []string{`https:\\a.example`}}, "spec.uris[0] **"},
		"a URI, two users":      {object.Certificate{URIs: []string{"https://a.example@b@c.example"}}, "spec.uris[0] **"},
		"a URI, a user's \\":    {object.Certificate{URIs: []string{`https://a.example\@b.example`}}, "spec.uris[0] **"},
		"a URI, no port":        {object.Certificate{URIs: []string{"https://a.example:x"}}, "spec.uris[0] **"},
		"a URI, an empty port":  {object.Certificate{URIs: []string{"https://a.example:?q"}}, "spec.uris[0] a.example"},
		"a URI, a zone":         {object.Certificate{URIs: []string{"https://[fe80::1%25a]"}}, "spec.uris[0] **"},
		"a URI, not closed":     {object.Certificate{URIs: []string{"https://[::1/"}}, "spec.uris[0] **"},
		"a URI, odd scheme":     {object.Certificate{URIs: []string{"1x://a.example"}}, "spec.uris[0] **"},
		"a URI, empty":          {object.Certificate{URIs: []string{"https://"}}, "spec.uris[0] **"},
		"urn alone":             {object.Certificate{URIs: []string{"urn"}}, "spec.uris[0] **"},
		"no URI":                {object.Certificate{URIs: []string{"%"}}, "spec.uris[0] **"},
		"addresses":             {object.Certificate{IPAddresses: []string{"192.0.2.1", "2001:db8:0::1"}}, "spec.ipAddresses[0] 192.0.2.1, spec.ipAddresses[1] 2001:db8::1"},
		"a mapped address":      {object.Certificate{IPAddresses: []string{"::ffff:192.0.2.1"}}, "spec.ipAddresses[0] 192.0.2.1"},
		"an address with zeros": {object.Certificate{IPAddresses: []string{"192.0.02.1"}}, "spec.ipAddresses[0] **"},
		"a zone":                {object.Certificate{IPAddresses: []string{"fe80::1%a"}}, "spec.ipAddresses[0] **"},
		"no address":            {object.Certificate{IPAddresses: []string{"a.example"}}, "spec.ipAddresses[0] **"},
	} {
		t.Run(name, func(t *testing.T) {
			claims := new(viewCertificate(&test.crt)).claims(new(rule.Recorder)).list
			var got []string
			for i := range claims {
				got = append(got, claims[i].at.String()+" "+claims[i].String())
			}
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
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
