package policy

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// Sentences that do not appear in the manifests of testdata/ingresses.
func TestIngressSentences(t *testing.T) {
	unruly := withHosts("")
	unruly.DefaultBackend = &object.IngressBackend{}
	unruly.Annotations = map[string]string{"nginx.ingress.kubernetes.io/app-root": "/x"}
	for name, test := range map[string]struct {
		rule string
		ing  *object.Ingress
		want []string
	}{
		"nothing passes":          {`hosts: {allowed: []}`, withHosts("a.example"), []string{`r/hosts.allowed: spec.rules[0].host: "a.example" is not allowed; the policy allows none`}},
		"every host passes":       {`hosts: {allowed: ["**"]}`, withHosts("a", "*.b.c", ""), nil},
		"hosts as DNS has them":   {`hosts: {allowed: ["*.Apps.example."]}`, withHosts("A.apps.EXAMPLE."), nil},
		"a wildcard below":        {`hosts: {allowed: ["**.example"]}`, withHosts("*.example", "*.a.example"), nil},
		"a wildcard by one host":  {`hosts: {allowed: [a.example]}`, withHosts("*.example"), []string{`r/hosts.allowed: spec.rules[0].host: "*.example" is not allowed; allowed: a.example`}},
		"many allowed":            {`hosts: {allowed: [a, b, c, d, e, f, g]}`, withHosts("x"), []string{`r/hosts.allowed: spec.rules[0].host: "x" is not allowed; allowed: a, b, c, d, e and 2 more`}},
		"every host is denied":    {`hosts: {denied: ["**"]}`, withHosts("a", ""), []string{`r/hosts.denied: spec.rules[0].host: "a" is denied by **`, `r/hosts.denied: spec.rules[1].host: no host means every host, including the denied **; set one`}},
		"an absent host counts":   {`hosts: {max: 1}`, withHosts("a.example", ""), []string{`r/hosts.max: spec.rules: has 2 different hosts; at most 1 are allowed`}},
		"certificates as DNS":     {`tls: {coversHosts: true}`, withTLS(withHosts("A.example", "x.b.example."), "a.EXAMPLE", "*.B.example."), nil},
		"no star covers its name": {`tls: {coversHosts: true}`, withTLS(withHosts("example"), "*.example"), []string{`r/tls.coversHosts: spec.rules[0].host: "example" is not in any spec.tls[].hosts; add it`}},
		"no certificate for all":  {`tls: {coversHosts: true}`, withTLS(withHosts("a.example"), "", "*", "**.example"), []string{`r/tls.coversHosts: spec.rules[0].host: "a.example" is not in any spec.tls[].hosts; add it or "*.example"`}},
		"both classes are wrong":  {`classNames: {allowed: [ok]}`, withClass("a", "a"), []string{`r/classNames.allowed: spec.ingressClassName: "a" is not allowed; allowed: ok`, `r/classNames.allowed: metadata.annotations["kubernetes.io/ingress.class"]: "a" is not allowed; allowed: ok`}},
		"required among":          {`classNames: {required: true, allowed: [a, b]}`, withClass("", ""), []string{`r/classNames.required: spec.ingressClassName: no class is set; allowed: a, b`}},
		"no type":                 {`paths: {types: []}`, withPaths("", "/"), []string{`r/paths.types: spec.rules[0].http.paths[0].pathType: no type is set; the policy allows none`}},
		"case of a denied part":   {`paths: {denied: [/ADMIN]}`, withPaths("Prefix", "/x/aDmin"), []string{`r/paths.denied: spec.rules[0].http.paths[0].path: "/x/aDmin" contains "/admin", which is denied`}},
		"the whole path":          {`paths: {deniedPatterns: ["/a"]}`, withPaths("Prefix", "/a/b", "Prefix", "/a"), []string{`r/paths.deniedPatterns: spec.rules[0].http.paths[1].path: "/a" matches /a, which is denied`}},
		"each character once":     {`paths: {unsafeCharacters: deny}`, withPaths("Exact", "/\x00\u00a0{\"'\\}\x00;#\t"), []string{`r/paths.unsafeCharacters: spec.rules[0].http.paths[0].path: "/\x00\u00a0{\"'\\}\x00;#\t" contains '\x00', '\u00a0', '{', '"', '\'' and 5 more, which can inject text into the controller's configuration (CVE-2026-24512); remove it`}},
		"a long value is cut":     {`annotations: {values: [{key: a, value: b}]}`, withAnnotations("a", strings.Repeat("secret", 100)), []string{`r/annotations.values: metadata.annotations["a"]: "` + strings.Repeat("secret", 10) + `"… does not match b`}},
		"both patterns of a key":  {`annotations: {values: [{key: "a*", value: ".*x.*"}, {key: ab, value: ".*y.*"}]}`, withAnnotations("ab", "x"), []string{`r/annotations.values: metadata.annotations["ab"]: "x" does not match .*y.*`}},
		"a default backend beside rules": {"hosts: {required: true, allowed: [a.example], denied: [b.example], wildcards: deny, max: 1}\n  tls: {coversHosts: true}",
			&object.Ingress{DefaultBackend: &object.IngressBackend{}, Rules: []object.IngressRule{{Host: "a.example"}}, TLS: []object.IngressTLS{{Hosts: []string{"a.example"}}}}, []string{
				`r/hosts.required: spec.defaultBackend: serves every host that is not in a rule; list hosts in spec.rules instead`,
				`r/hosts.allowed: spec.defaultBackend: serves every host that is not in a rule; allowed: a.example`,
				`r/hosts.denied: spec.defaultBackend: serves every host that is not in a rule, including the denied b.example; list hosts in spec.rules instead`,
				`r/hosts.wildcards: spec.defaultBackend: serves every host that is not in a rule; write each host out`,
				`r/hosts.max: spec.rules: has 2 different hosts; at most 1 are allowed`,
				`r/tls.coversHosts: spec.defaultBackend: serves every host that is not in a rule; no certificate covers that, list hosts in spec.rules instead`,
			}},
		"a path that may be a pattern": {"paths: {denied: [/admin]}", withPaths("ImplementationSpecific", "/[a]dmin", "", "/adm.n", "Prefix", "/(a)dmin", "Exact", "/adm.n", "ImplementationSpecific", "/index.html"), []string{
			`r/paths.denied: spec.rules[0].http.paths[0].path: "/[a]dmin" may be read as a pattern, because of '[', so it cannot be distinguished from "/admin", which is denied; write pathType Exact or Prefix, without use-regex, path-regex and rewrite-target`,
			`r/paths.denied: spec.rules[0].http.paths[1].path: "/adm.n" as a pattern, in which a dot is any character, contains "/admin", which is denied`,
		}},
		"a path that an annotation makes a pattern": {"paths: {denied: [/admin]}", patterned("nginx.ingress.kubernetes.io/use-regex"), []string{
			`r/paths.denied: spec.rules[0].http.paths[0].path: "/adm(in)" may be read as a pattern, because of '(', so it cannot be distinguished from "/admin", which is denied; write pathType Exact or Prefix, without use-regex, path-regex and rewrite-target`,
		}},
		"a path that an annotation of F5 makes a pattern": {"paths: {denied: [/admin]}", patterned("nginx.org/path-regex"), []string{
			`r/paths.denied: spec.rules[0].http.paths[0].path: "/adm(in)" may be read as a pattern, because of '(', so it cannot be distinguished from "/admin", which is denied; write pathType Exact or Prefix, without use-regex, path-regex and rewrite-target`,
		}},
		"a path that is rewritten": {"paths: {denied: [/admin]}", patterned("internal.example/rewrite-target"), []string{
			`r/paths.denied: spec.rules[0].http.paths[0].path: "/adm(in)" may be read as a pattern, because of '(', so it cannot be distinguished from "/admin", which is denied; write pathType Exact or Prefix, without use-regex, path-regex and rewrite-target`,
		}},
		"a path that is no pattern": {"paths: {denied: [/admin]}", patterned("example.com/regex"), nil},
		"in the order of fields": {"defaultBackend: deny\n  message: ask the platform team\n  ingressNginx: {maxRisk: Low}\n  annotations: {required: [{key: team}]}\n  paths: {types: []}\n" +
			"  classNames: {required: true}\n  tls: {required: true}\n  hosts: {required: true}", unruly, []string{
			`r/hosts.required: spec.rules[0].host: no host means every host; set one (ask the platform team)`,
			`r/hosts.required: spec.defaultBackend: serves every host that is not in a rule; list hosts in spec.rules instead (ask the platform team)`,
			`r/tls.required: spec.tls: is not set, so plain HTTP may be served; set it (ask the platform team)`,
			`r/classNames.required: spec.ingressClassName: no class is set; set one (ask the platform team)`,
			`r/paths.types: spec.rules[0].http.paths[0].pathType: "Prefix" is not allowed; the policy allows none (ask the platform team)`,
			`r/annotations.required: metadata.annotations["team"]: is required; set it (ask the platform team)`,
			`r/ingressNginx.maxRisk: metadata.annotations["nginx.ingress.kubernetes.io/app-root"]: has the risk Medium; at most Low is allowed (ask the platform team)`,
			`r/defaultBackend: spec.defaultBackend: gets every request that no rule matches, and is denied; list hosts in spec.rules instead (ask the platform team)`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := sentences(must(Ingresses.Evaluate(mustLoadIngressRule(t, test.rule), creating, test.ing, nil, nil)))
			equal(t, test.want, got)
		})
	}
}

// No value of an object adds a control character to a sentence, because the API server would drop the warning.
func TestIngressSentencesPrint(t *testing.T) {
	p := mustLoadIngressRule(t, `hosts: {allowed: [], denied: ["**"], wildcards: deny}
  tls: {required: true, coversHosts: true, allowHTTP: deny}
  classNames: {allowed: []}
  paths: {types: [], denied: [/], deniedPatterns: [".*"], unsafeCharacters: deny}
  annotations: {denied: ["*/"], required: [{key: kubernetes.io/ingress.class, value: x}], values: [{key: "*", value: x}], deniedValues: [{key: "*", value: ".*"}]}
  ingressNginx: {maxRisk: Low}`)
	const evil = "*.\x00\n\x1b[31m\u202e\xff/"
	ing := &object.Ingress{
		Meta:      object.Meta{Annotations: map[string]string{classAnnotation: evil, allowHTTPAnnotation: evil, evil: evil, "nginx.ingress.kubernetes.io/" + evil: evil}},
		ClassName: new(evil + "x"),
		Rules:     []object.IngressRule{{Host: evil, Paths: []object.IngressPath{{Path: evil, Type: evil}}}},
		TLS:       []object.IngressTLS{{Hosts: []string{evil + "x"}}},
	}
	checks := map[string]bool{}
	for _, f := range must(Ingresses.Evaluate(p, creating, ing, nil, nil)) {
		checks[f.Check] = true
		if s := f.String(); strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' || r == '\ufffd' }) {
			t.Errorf("%q", s)
		}
	}
	if len(checks) != 16 {
		t.Errorf("%d checks found something: %v", len(checks), checks)
	}
}

// patterned is an Ingress with a path of characters that are special in regular expressions, and an annotation.
func patterned(key string) *object.Ingress {
	ing := withPaths("Prefix", "/adm(in)")
	ing.Annotations = map[string]string{key: "true"}
	return ing
}

// The evaluation of an Ingress of the maximum size that etcd accepts takes about as many steps as it has hosts. If it
// took the square of this number, this test would run for minutes.
func TestIngressOfManyHosts(t *testing.T) {
	const n = 10000
	ing := manyHosts(n)
	ing.TLS = []object.IngressTLS{{}}
	for i := range n {
		ing.TLS = append(ing.TLS, object.IngressTLS{Hosts: []string{fmt.Sprintf("other%d.example", i)}})
	}
	p := mustLoadIngressRule(t, "hosts: {allowed: [ok.example], denied: [bad.example], wildcards: deny, max: 1}\n  tls: {coversHosts: true}")
	findings := must(Ingresses.Evaluate(p, updating, ing, ing, nil))
	if want := rule.MaxFindings; len(findings) != want {
		t.Errorf("%d findings, want %d", len(findings), want)
	}
	for _, f := range findings {
		if !f.Existed {
			t.Fatalf("new: %s", f)
		}
	}
}

// manyHosts returns an Ingress with n hosts below apps.example.com, all of them in spec.tls.
func manyHosts(n int) *object.Ingress {
	ing := &object.Ingress{Meta: object.Meta{Annotations: map[string]string{"nginx.ingress.kubernetes.io/rewrite-target": "/", "team": "web"}}, ClassName: new("public")}
	for i := range n {
		host := fmt.Sprintf("host%d.apps.example.com", i)
		ing.Rules = append(ing.Rules, object.IngressRule{Host: host, Paths: []object.IngressPath{{Path: "/", Type: "Prefix"}, {Path: "/api", Type: "Exact"}}})
		ing.TLS = append(ing.TLS, object.IngressTLS{Hosts: []string{host}})
	}
	return ing
}

func BenchmarkEvaluateIngress(b *testing.B) {
	for _, rules := range []int{10, 900} {
		p := manyRules(b, rules)
		for _, hosts := range []int{10, 500, 2500} {
			b.Run(fmt.Sprintf("rules=%d/hosts=%d", rules, hosts), func(b *testing.B) {
				ing := manyHosts(hosts)
				b.ReportAllocs()
				for b.Loop() {
					if findings := must(Ingresses.Evaluate(p, creating, ing, nil, nil)); len(findings) > 0 {
						b.Fatal(findings[0])
					}
				}
			})
		}
	}
}

// Each special character of a path is found if a controller may read the path as a regular expression, and only then.
func TestPathMayBeAPattern(t *testing.T) {
	p := mustLoadIngressRule(t, "paths: {denied: [/admin]}")
	for _, c := range "[](){}*+?|^$\\" {
		path := "/a" + string(c)
		for pathType, want := range map[string][]string{
			"Exact": nil, "Prefix": nil,
			"ImplementationSpecific": {`r/paths.denied: spec.rules[0].http.paths[0].path: ` + strconv.Quote(path) + ` may be read as a pattern, because of ` +
				strconv.QuoteRune(c) + `, so it cannot be distinguished from "/admin", which is denied; write pathType Exact or Prefix, without use-regex, path-regex and rewrite-target`},
		} {
			got := sentences(must(Ingresses.Evaluate(p, creating, withPaths(pathType, path), nil, nil)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s: %s", pathType, path, diff)
			}
		}
	}
}

// manyRules returns a policy of n rules. Ten of them match the namespace. Each rule allows 200 hosts and has every
// check.
func manyRules(_ testing.TB, n int) *Policy {
	var y strings.Builder
	y.WriteString("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\ningresses:\n")
	for i := range n {
		namespace := "team-a"
		if i >= 10 {
			namespace = fmt.Sprintf("team-%d", i)
		}
		fmt.Fprintf(&y, "- name: r%d\n  mode: enforce\n  match: {namespaces: [%s]}\n", i, namespace)
		y.WriteString("  hosts: {required: true, wildcards: deny, max: 100000, denied: [\"**.corp.example.com\"], allowed: [\"*.apps.example.com\"")
		for j := range 200 {
			fmt.Fprintf(&y, ", h%d.example.com", j)
		}
		y.WriteString("]}\n  tls: {required: true, coversHosts: true}\n  classNames: {required: true, allowed: [internal, public]}\n" +
			"  paths: {types: [Exact, Prefix], denied: [/admin], deniedPatterns: [\".*_by_lua.*\"], unsafeCharacters: deny}\n" +
			"  annotations: {denied: [\"example.com/*\"], required: [{key: team}]}\n  ingressNginx: {maxRisk: Medium}\n  defaultBackend: deny\n")
	}
	p := must(Load(File{Name: "p.yaml", Data: []byte(y.String())}))
	return p
}

// Every sentence starts with p.yaml:line:column. The tests of loading check these positions.
func TestIngressRuleErrors(t *testing.T) {
	for rule, want := range map[string]string{
		`message: ask us`: `ingresses[0]: checks nothing: write hosts, tls, classNames, paths, annotations, ingressNginx, backends or defaultBackend`,

		`hosts: {}`:                           `ingresses[0].hosts: checks nothing: write required, allowed, denied, wildcards or max`,
		`hosts: {required: false}`:            `ingresses[0].hosts: checks nothing: write required, allowed, denied, wildcards or max`,
		`hosts: {max: 3, denied: []}`:         `ingresses[0].hosts.denied: [] checks nothing: leave the field out`,
		`hosts: {max: 0}`:                     `ingresses[0].hosts.max: 0 is too few: to deny all hosts write allowed: []`,
		`hosts: {wildcards: allow}`:           `ingresses[0].hosts.wildcards: "allow" is not known here: write deny, or leave the field out to allow it`,
		`hosts: {allowed: [""]}`:              `ingresses[0].hosts.allowed[0]: "" is not a host pattern: write "**" for every host`,
		`hosts: {allowed: ["*"]}`:             `ingresses[0].hosts.allowed[0]: "*" is not a host pattern: * matches one label: write "**" for every host`,
		`hosts: {allowed: ["https://a.b/"]}`:  `ingresses[0].hosts.allowed[0]: "https://a.b/" is not a host pattern: leave scheme, port and path out`,
		`hosts: {allowed: ["a.b:443"]}`:       `ingresses[0].hosts.allowed[0]: "a.b:443" is not a host pattern: leave scheme, port and path out`,
		`hosts: {allowed: ["a*.b"]}`:          `ingresses[0].hosts.allowed[0]: "a*.b" is not a host pattern: write * for one whole label, or ** for several, only at the start: *.example.com, **.example.com`,
		`hosts: {allowed: ["**.*.b"]}`:        `ingresses[0].hosts.allowed[0]: "**.*.b" is not a host pattern: write * for one whole label, or ** for several, only at the start: *.example.com, **.example.com`,
		`hosts: {allowed: [a..b]}`:            `ingresses[0].hosts.allowed[0]: "a..b" is not a host pattern: it has an empty label`,
		`hosts: {allowed: [".b"]}`:            `ingresses[0].hosts.allowed[0]: ".b" is not a host pattern: it has an empty label`,
		`hosts: {allowed: [-a.b]}`:            `ingresses[0].hosts.allowed[0]: "-a.b" is not a host pattern: the label "-a" begins or ends with -`,
		`hosts: {allowed: [a_b.c]}`:           `ingresses[0].hosts.allowed[0]: "a_b.c" is not a host pattern: the label "a_b" has a character other than letters, digits and - (write other scripts as xn--…)`,
		`hosts: {allowed: [bücher.example]}`:  `ingresses[0].hosts.allowed[0]: "bücher.example" is not a host pattern: the label "bücher" has a character other than letters, digits and - (write other scripts as xn--…)`,
		`hosts: {allowed: [` + label64 + `]}`: `ingresses[0].hosts.allowed[0]: "` + label64[:60] + `"… is not a host pattern: the label "` + label64[:60] + `"… has 64 characters, a label has at most 63`,
		`hosts: {denied: ["` + host254 + `."]}`: `ingresses[0].hosts.denied[0]: "` + host254[:60] + `"… is not a host pattern: ` +
			`it has 254 characters, a host has at most 253`,
		`hosts: {allowed: ["{team}.b"]}`:                  `ingresses[0].hosts.allowed[0]: "{team}.b" is not a host pattern: the only placeholder is {namespace}, as a whole label: *.{namespace}.apps.example.com`,
		`hosts: {allowed: ["{namespace.b"]}`:              `ingresses[0].hosts.allowed[0]: "{namespace.b" is not a host pattern: the only placeholder is {namespace}, as a whole label: *.{namespace}.apps.example.com`,
		`hosts: {allowed: ["{{namespace}}.b"]}`:           `ingresses[0].hosts.allowed[0]: "{{namespace}}.b" is not a host pattern: the only placeholder is {namespace}, as a whole label: *.{namespace}.apps.example.com`,
		`hosts: {allowed: ["{namespace}.{namespace}.b"]}`: `ingresses[0].hosts.allowed[0]: "{namespace}.{namespace}.b" is not a host pattern: it has {namespace} twice: write it once, as in *.{namespace}.apps.example.com`,
		`hosts: {allowed: ["*-{namespace}.b"]}`:           `ingresses[0].hosts.allowed[0]: "*-{namespace}.b" is not a host pattern: {namespace} must be a whole label, because two namespaces could share a host otherwise: *.{namespace}.apps.example.com`,
		`hosts: {allowed: ["*{namespace}.b"]}`:            `ingresses[0].hosts.allowed[0]: "*{namespace}.b" is not a host pattern: {namespace} must be a whole label, because two namespaces could share a host otherwise: *.{namespace}.apps.example.com`,
		`hosts: {allowed: ["{namespace}-api.b"]}`:         `ingresses[0].hosts.allowed[0]: "{namespace}-api.b" is not a host pattern: {namespace} must be a whole label, because two namespaces could share a host otherwise: *.{namespace}.apps.example.com`,
		`hosts: {allowed: ["{namespace}.*.b"]}`:           `ingresses[0].hosts.allowed[0]: "{namespace}.*.b" is not a host pattern: write * for one whole label, or ** for several, only at the start: *.example.com, **.example.com`,
		`hosts: {allowed: ["{namespace}..b"]}`:            `ingresses[0].hosts.allowed[0]: "{namespace}..b" is not a host pattern: it has an empty label`,
		`hosts: {allowed: ["{namespace}.b:443"]}`:         `ingresses[0].hosts.allowed[0]: "{namespace}.b:443" is not a host pattern: leave scheme, port and path out`,
		`hosts: {denied: ["{namespace}.b"]}`:              `ingresses[0].hosts.denied[0]: "{namespace}.b" is not a host pattern: {namespace} is supported only in hosts.allowed: write the name, or a wildcard`,
		`hosts: {allowed: ["x.{namespace}.b", "*.{namespace}.b", "{namespace}.b", "{namespace}.a.b"], denied: ["**.a.b", "*.b"]}`: "ingresses[0].hosts.allowed: {namespace}.b is also denied, by *.b: no host can pass by it\n" +
			`ingresses[0].hosts.allowed: {namespace}.a.b is also denied, by **.a.b: no host can pass by it`,
		`hosts: {allowed: [a.b, x.b], denied: ["*.B."]}`: "ingresses[0].hosts.allowed: a.b is also denied, by *.b: no host can pass by it\n" +
			`ingresses[0].hosts.allowed: x.b is also denied, by *.b: no host can pass by it`,

		`tls: {coversHosts: false}`:                              `ingresses[0].tls: checks nothing: write required, coversHosts or allowHTTP`,
		`classNames: {}`:                                         `ingresses[0].classNames: checks nothing: write required or allowed`,
		`paths: {}`:                                              `ingresses[0].paths: checks nothing: write types, denied, deniedPatterns or unsafeCharacters`,
		`paths: {types: [exact]}`:                                `ingresses[0].paths.types[0]: "exact" is not a path type: write Exact, Prefix or ImplementationSpecific`,
		`paths: {denied: [""]}`:                                  `ingresses[0].paths.denied[0]: every path contains an empty part: to deny all paths write types: []`,
		`paths: {denied: [], unsafeCharacters: deny}`:            `ingresses[0].paths.denied: [] checks nothing: leave the field out`,
		`paths: {deniedPatterns: []}`:                            `ingresses[0].paths.deniedPatterns: [] checks nothing: leave the field out`,
		`paths: {deniedPatterns: ["("]}`:                         "ingresses[0].paths.deniedPatterns[0]: not a regular expression: missing closing ): `(`",
		`paths: {deniedPatterns: [")|("]}`:                       "ingresses[0].paths.deniedPatterns[0]: not a regular expression: unexpected ): `)|(`",
		`paths: {deniedPatterns: [""]}`:                          `ingresses[0].paths.deniedPatterns[0]: an empty regular expression covers only the empty value: write ".*" for everything`,
		`paths: {deniedPatterns: ["a\nb"]}`:                      `ingresses[0].paths.deniedPatterns[0]: a regular expression must not contain U+000A, which does not print: write \x{A}`,
		`paths: {deniedPatterns: [_by_lua]}`:                     `ingresses[0].paths.deniedPatterns: _by_lua does not match any path: it is compared with the whole path, which begins with /; write .*_by_lua.* for a part, or use denied`,
		`paths: {deniedPatterns: [(a.*)]}`:                       `ingresses[0].paths.deniedPatterns: (a.*) does not match any path: it is compared with the whole path, which begins with /; write .*(a.*).* for a part, or use denied`,
		`annotations: {}`:                                        `ingresses[0].annotations: checks nothing: write denied, required, values or deniedValues`,
		`annotations: {required: []}`:                            `ingresses[0].annotations.required: [] checks nothing: leave the field out`,
		`annotations: {required: [{value: x}]}`:                  `ingresses[0].annotations.required[0]: key is required`,
		`annotations: {required: [{key: "a/*"}]}`:                `ingresses[0].annotations.required[0].key: "a/*" is not the key of one annotation: write it out`,
		`annotations: {values: [{key: a}]}`:                      `ingresses[0].annotations.values[0]: value is required`,
		`annotations: {required: [{key: a/b}], denied: ["a/*"]}`: `ingresses[0].annotations.required: a/b is also denied, by a/*: no object can pass`,
		`ingressNginx: {}`:                                       `ingresses[0].ingressNginx: checks nothing: write maxRisk or rewriteTarget`,
		`ingressNginx: {rewriteTarget: deny}`:                    `ingresses[0].ingressNginx.rewriteTarget: "deny" is not known here: write safe, or leave the field out to allow every value`,
		`ingressNginx: {maxRisk: medium}`:                        `ingresses[0].ingressNginx.maxRisk: "medium" is not a risk: write Low, Medium or High`,
		`ingressNginx: {maxRisk: Critical}`:                      `ingresses[0].ingressNginx.maxRisk: Critical lets every annotation pass: leave it out`,
		`defaultBackend: allow`:                                  `ingresses[0].defaultBackend: "allow" is not known here: write deny, or leave the field out to allow it`,

		"defaultBackend: deny\n  match: {podLabels: [app]}": `ingresses[0].match: podLabels has no meaning here: only mirrors and pods entries match Pods`,
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := Load(policyFile("p.yaml", ingressRule(rule)))
			if err == nil {
				t.Fatal("no error")
			}
			var got []string
			for line := range strings.SplitSeq(err.Error(), "\n") {
				_, line, _ = strings.Cut(line, ": ") // the position
				got = append(got, line)
			}
			equal(t, want, strings.Join(got, "\n"))
		})
	}
}

var (
	label64 = strings.Repeat("x", 64)
	host254 = strings.Repeat("ab.", 84) + "ab"
)

// mustLoadIngressRule loads a policy of one ingresses entry r with these fields. All lines except the first are
// indented by two.
func mustLoadIngressRule(t testing.TB, text string) *Policy {
	t.Helper()
	return mustLoad(t, ingressRule(text))
}

func ingressRule(text string) string {
	return "ingresses:\n- name: r\n  mode: enforce\n  " + text + "\n"
}

var creating = object.Attributes{Operation: object.Create, Namespace: "team-a", Resource: "ingresses"}

// withHosts returns an Ingress with a rule for each host.
func withHosts(hosts ...string) *object.Ingress {
	ing := &object.Ingress{}
	for _, h := range hosts {
		ing.Rules = append(ing.Rules, object.IngressRule{Host: h, Paths: []object.IngressPath{{Path: "/", Type: "Prefix"}}})
	}
	return ing
}

// withTLS adds an element of spec.tls.
func withTLS(ing *object.Ingress, hosts ...string) *object.Ingress {
	ing.TLS = append(ing.TLS, object.IngressTLS{Hosts: hosts})
	return ing
}

// withAnnotations returns an Ingress for one host with these annotations: key, value, key, value.
func withAnnotations(pairs ...string) *object.Ingress {
	ing := withHosts("a.example")
	ing.Annotations = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		ing.Annotations[pairs[i]] = pairs[i+1]
	}
	return ing
}

// withPaths returns an Ingress for one host with paths: type, path, type, path.
func withPaths(pairs ...string) *object.Ingress {
	ing := &object.Ingress{Rules: []object.IngressRule{{Host: "a.example"}}}
	for i := 0; i < len(pairs); i += 2 {
		ing.Rules[0].Paths = append(ing.Rules[0].Paths, object.IngressPath{Path: pairs[i+1], Type: pairs[i]})
	}
	return ing
}

// backends returns an Ingress with a path for each Service.
func backends(services ...string) *object.Ingress {
	ing := &object.Ingress{Rules: make([]object.IngressRule, 1)}
	for _, s := range services {
		path := object.IngressPath{Path: "/", Backend: object.IngressBackend{Service: s, Port: 80}}
		ing.Rules[0].Paths = append(ing.Rules[0].Paths, path)
	}
	return ing
}

// withClass returns an Ingress with the class in its spec and in its annotation; empty ones are absent.
func withClass(spec, annotation string) *object.Ingress {
	ing := withHosts("a.example")
	if spec != "" {
		ing.ClassName = &spec
	}
	if annotation != "" {
		ing.Annotations = map[string]string{classAnnotation: annotation}
	}
	return ing
}
