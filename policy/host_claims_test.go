package policy

import (
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// The sentences about hosts in each field.
func TestSentencesOfClaims(t *testing.T) {
	const rule = `hosts: {required: true, allowed: ["*.example"], denied: [www.example], wildcards: deny, max: 2}`
	for name, test := range map[string]struct {
		ing  *object.Ingress
		want []string
	}{
		"tls": {withTLS(withHosts("a.example"), "b.corp", "*.example"), []string{
			`r/hosts.allowed: spec.tls[0].hosts[0]: "b.corp" is not allowed; allowed: *.example`,
			`r/hosts.denied: spec.tls[0].hosts[1]: "*.example" also covers the denied www.example; write each host out`,
			`r/hosts.wildcards: spec.tls[0].hosts[1]: "*.example" is a wildcard, which is denied; write each host out`,
			`r/hosts.max: spec.rules: has 3 different hosts; at most 2 are allowed`,
		}},
		"once": {withTLS(withHosts("b.corp"), "b.corp"), []string{`r/hosts.allowed: spec.rules[0].host: "b.corp" is not allowed; allowed: *.example`}},
		"once, in another order": {withTLS(withHosts("b.corp", "c.corp"), "c.corp", "b.corp", "c.corp", "b.corp"), []string{
			`r/hosts.allowed: spec.rules[0].host: "b.corp" is not allowed; allowed: *.example`,
			`r/hosts.allowed: spec.rules[1].host: "c.corp" is not allowed; allowed: *.example`,
		}},
		"a regular expression, twice": {
			&object.Ingress{Meta: object.Meta{Annotations: map[string]string{"konghq.com/snis": "~x,~x"}}, Rules: []object.IngressRule{{Host: "a.example"}}},
			[]string{
				`r/hosts.required: metadata.annotations["konghq.com/snis"]: "~x" may cover every host; write each host out`,
				`r/hosts.allowed: metadata.annotations["konghq.com/snis"]: "~x" may cover every host; allowed: *.example`,
				`r/hosts.denied: metadata.annotations["konghq.com/snis"]: "~x" may cover every host, including the denied www.example; write each host out`,
				`r/hosts.wildcards: metadata.annotations["konghq.com/snis"]: "~x" may cover every host; write each host out`,
			},
		},
		"a regular expression": {
			&object.Ingress{Meta: object.Meta{Annotations: map[string]string{"nginx.ingress.kubernetes.io/server-alias": "~^x"}}, Rules: []object.IngressRule{{Host: "a.example"}}},
			[]string{
				`r/hosts.required: metadata.annotations["nginx.ingress.kubernetes.io/server-alias"]: "~^x" may cover every host; write each host out`,
				`r/hosts.allowed: metadata.annotations["nginx.ingress.kubernetes.io/server-alias"]: "~^x" may cover every host; allowed: *.example`,
				`r/hosts.denied: metadata.annotations["nginx.ingress.kubernetes.io/server-alias"]: "~^x" may cover every host, including the denied www.example; write each host out`,
				`r/hosts.wildcards: metadata.annotations["nginx.ingress.kubernetes.io/server-alias"]: "~^x" may cover every host; write each host out`,
			},
		},
		"a record": {
			&object.Ingress{
				Meta:  object.Meta{Annotations: map[string]string{"external-dns.kubernetes.io/target": "192.0.2.1"}},
				Rules: []object.IngressRule{{Host: "*.a.example"}, {Host: "a.example"}}, TLS: []object.IngressTLS{{Hosts: []string{"*.b.example"}}},
			},
			[]string{
				`r/hosts.allowed: spec.rules[0].host: "*.a.example" is not allowed; allowed: *.example`,
				`r/hosts.allowed: spec.tls[0].hosts[0]: "*.b.example" is not allowed; allowed: *.example`,
				`r/hosts.allowed: metadata.annotations["external-dns.kubernetes.io/target"]: "*.a.example" (names at any depth) is not allowed; allowed: *.example`,
				`r/hosts.allowed: metadata.annotations["external-dns.kubernetes.io/target"]: "*.b.example" (names at any depth) is not allowed; allowed: *.example`,
				`r/hosts.wildcards: spec.rules[0].host: "*.a.example" is a wildcard, which is denied; write each host out`,
				`r/hosts.wildcards: spec.tls[0].hosts[0]: "*.b.example" is a wildcard, which is denied; write each host out`,
				`r/hosts.wildcards: metadata.annotations["external-dns.kubernetes.io/target"]: "*.a.example" (names at any depth) is a wildcard, which is denied; write each host out`,
				`r/hosts.wildcards: metadata.annotations["external-dns.kubernetes.io/target"]: "*.b.example" (names at any depth) is a wildcard, which is denied; write each host out`,
				`r/hosts.max: spec.rules: has 3 different hosts; at most 2 are allowed`,
			},
		},
		"any depth": {
			&object.Ingress{Meta: object.Meta{Annotations: map[string]string{"external-dns.kubernetes.io/hostname": "*.example"}}, Rules: []object.IngressRule{{Host: "a.example"}}},
			[]string{
				`r/hosts.allowed: metadata.annotations["external-dns.kubernetes.io/hostname"]: "*.example" (names at any depth) is not allowed; allowed: *.example`,
				`r/hosts.denied: metadata.annotations["external-dns.kubernetes.io/hostname"]: "*.example" (names at any depth) also covers the denied www.example; write each host out`,
				`r/hosts.wildcards: metadata.annotations["external-dns.kubernetes.io/hostname"]: "*.example" (names at any depth) is a wildcard, which is denied; write each host out`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := sentences(must(mustLoadIngressRule(t, rule).EvaluateIngress(creating, test.ing, nil, nil)))
			equal(t, test.want, got)
		})
	}
}

// A wildcard whose DNS record has a target claims names at any depth, under each prefix and for each check of hosts.
func TestRecordsWithTargets(t *testing.T) {
	const rule = "annotationPrefixes: {externalDNS: [dns.corp.example]}\ningresses: [{name: r, mode: enforce, hosts: {%s}}]\n"
	const owners = "owners: [{name: o, mode: enforce, hosts: [y.x.a.example], namespaces: []}]\n"
	for _, test := range []struct {
		policy, host, key, value string
		findings                 int
	}{
		{`allowed: ["*.a.example"]`, "*.a.example", "external-dns.kubernetes.io/target", "192.0.2.1", 1},
		{`allowed: ["*.a.example"]`, "*.a.example", "external-dns.alpha.kubernetes.io/Target", " ", 1},
		{`allowed: ["*.a.example"]`, "*.a.example", "dns.corp.example/target", "x", 1},
		{`allowed: ["*.a.example"]`, "*.a.example", "dns.example/target", "x", 0},
		{`allowed: ["*.a.example"]`, "*.a.example", "external-dns.kubernetes.io/target", "", 0},
		{`allowed: ["*.a.example"]`, "b.a.example", "external-dns.kubernetes.io/target", "x", 0},
		{`allowed: ["**.a.example"]`, "*.a.example", "external-dns.kubernetes.io/target", "x", 0},
		{`denied: [y.x.a.example]`, "*.a.example", "external-dns.kubernetes.io/target", "x", 1},
		{owners, "*.a.example", "external-dns.kubernetes.io/target", "x", 1},
		{owners, "*.a.example", "external-dns.kubernetes.io/ttl", "x", 0},
	} {
		text := owners
		if test.policy != owners {
			text = strings.Replace(rule, "%s", test.policy, 1)
		}
		ing := withHosts(test.host)
		ing.Annotations = map[string]string{test.key: test.value}
		if found := must(mustLoad(t, text).EvaluateIngress(creating, ing, nil, nil)); len(found) != test.findings {
			t.Errorf("%+v: %v", test, sentences(found))
		}
	}
}

// Configuration text for nginx claims every host if it can end its block, name hosts, or run code.
func TestNginxConfiguration(t *testing.T) {
	p := mustLoadIngressRule(t, `hosts: {allowed: [a.example]}`)
	for text, claims := range map[string]bool{
		"": false, "proxy_set_header A b; return 403;\nmore_set_headers 'A: value of a';": false,
		"}": true, "if ($a) { return 403; }": true, "server_name x;": true, `"server_name" x;`: true, "listen 80 default_server;": true,
		"include /tmp/x;": true, "access_by_lua '';": true, "js_content a.b;": true, "perl_set $a b;": true,
	} {
		for _, key := range []string{
			"nginx.ingress.kubernetes.io/server-snippet", "nginx.ingress.kubernetes.io/Configuration-snippet", "nginx.org/server-snippets",
		} {
			ing := withHosts("a.example")
			ing.Annotations = map[string]string{key: text}
			if found := must(p.EvaluateIngress(creating, ing, nil, nil)); len(found) > 0 != claims {
				t.Errorf("%s: %q: %v, want a claim: %t", key, text, sentences(found), claims)
			}
		}
	}
}

// A host in a rule of the old object is pre-existing in all fields. A host that was only in spec.tls is not
// pre-existing in a rule, and an added annotation is not pre-existing.
func TestClaimsOfOldObjects(t *testing.T) {
	p := mustLoadIngressRule(t, `hosts: {allowed: ["*.example"]}`)
	for _, test := range []struct {
		old, obj *object.Ingress
		existed  string // the path of the pre-existing finding
	}{
		{withTLS(withHosts("a.example", "old.corp"), "a.example"), withTLS(withHosts("a.example", "new.corp"), "old.corp"), "spec.tls[0].hosts[0]"},
		{withTLS(withHosts("a.example"), "old.corp"), withTLS(withHosts("a.example", "old.corp"), "new.corp"), ""},
		{withTLS(withHosts("a.example"), "old.corp"), withTLS(withHosts("a.example", "new.corp"), "old.corp"), "spec.tls[0].hosts[0]"},
	} {
		found := must(p.EvaluateIngress(updating, test.obj, test.old, nil))
		if len(found) != 2 {
			t.Errorf("%v, want two findings", sentences(found))
		}
		for _, f := range found {
			if want := f.Path == test.existed; f.Existed != want {
				t.Errorf("%s: pre-existing is %t, want %t", f, f.Existed, want)
			}
		}
	}
}

// A text that cannot be parsed may cover every host. It is pre-existing only if the same annotation had the same text.
func TestUnreadableClaimsOfOldObjects(t *testing.T) {
	const nginx, haproxy = "nginx.ingress.kubernetes.io/server-alias", "ingress.kubernetes.io/server-alias-regex"
	ingress := func(host string, annotations ...string) *object.Ingress {
		ing := withAnnotations(annotations...)
		ing.Rules = []object.IngressRule{{Host: host}}
		return ing
	}
	for name, test := range map[string]struct {
		old, changed *object.Ingress
		want         string // the fields of introduced findings
	}{
		"the same":              {ingress("a.example", nginx, "~^x"), ingress("a.example", nginx, "~^x"), ""},
		"another host":          {ingress("a.example", nginx, "~^x"), ingress("b.example", nginx, "~^x"), ""},
		"another expression":    {ingress("a.example", nginx, "~^x"), ingress("a.example", nginx, "~^y"), annotationPath(nginx)},
		"one more":              {ingress("a.example", nginx, "~^x"), ingress("a.example", nginx, "~^x,~^y"), annotationPath(nginx)},
		"one fewer":             {ingress("a.example", nginx, "~^x,~^y"), ingress("a.example", nginx, "~^y"), ""},
		"in another annotation": {ingress("a.example", nginx, "~^x"), ingress("a.example", haproxy, "~^x"), annotationPath(haproxy)},
		"beside every host":     {ingress(""), ingress("", nginx, "~^x"), annotationPath(nginx)},
		"then every host":       {ingress("a.example", nginx, "~^x"), ingress(""), "spec.rules[0].host"},
	} {
		for _, rules := range []string{
			"ingresses: [{name: r, mode: enforce, hosts: {required: true}}]",
			"ingresses: [{name: r, mode: enforce, hosts: {allowed: ['**.example']}}]",
			"ingresses: [{name: r, mode: enforce, hosts: {denied: [www.example]}}]",
			"ingresses: [{name: r, mode: enforce, hosts: {wildcards: deny}}]",
			"owners: [{name: o, mode: enforce, hosts: [www.example], namespaces: []}]",
		} {
			t.Run(name+", "+rules, func(t *testing.T) {
				var got []string
				for _, f := range must(mustLoad(t, rules).EvaluateIngress(updating, test.changed, test.old, nil)) {
					if f.Denies() {
						got = append(got, f.Path)
					}
				}
				if got := strings.Join(got, ", "); got != test.want {
					t.Errorf("introduced in %q, want %q", got, test.want)
				}
			})
		}
	}
}
