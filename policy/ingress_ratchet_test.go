package policy

import (
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// An update of an Ingress with pre-existing findings. want contains the introduced findings.
func TestIngressRatchet(t *testing.T) {
	const allowed = `hosts: {allowed: [ok.example]}`
	for name, test := range map[string]struct {
		rule     string
		old, new *object.Ingress
		want     []string
	}{
		"host: unchanged":       {allowed, withHosts("bad.example"), withHosts("bad.example"), nil},
		"host: reordered":       {allowed, withHosts("bad.example", "ok.example", "worse.example"), withHosts("worse.example", "ok.example", "bad.example"), nil},
		"host: one removed":     {allowed, withHosts("bad.example", "worse.example"), withHosts("worse.example"), nil},
		"host: same in DNS":     {allowed, withHosts("bad.example"), withHosts("BAD.example."), nil},
		"host: one added":       {allowed, withHosts("bad.example"), withHosts("bad.example", "worse.example"), []string{`r/hosts.allowed: spec.rules[1].host: "worse.example" is not allowed; allowed: ok.example`}},
		"host: exchanged":       {allowed, withHosts("bad.example"), withHosts("worse.example"), []string{`r/hosts.allowed: spec.rules[0].host: "worse.example" is not allowed; allowed: ok.example`}},
		"host: made a wildcard": {allowed, withHosts("bad.example"), withHosts("*.example"), []string{`r/hosts.allowed: spec.rules[0].host: "*.example" is not allowed; allowed: ok.example`}},
		"host: removed":         {allowed, withHosts("bad.example"), withHosts(""), []string{`r/hosts.allowed: spec.rules[0].host: no host means every host; allowed: ok.example`}},
		"host: still absent":    {`hosts: {required: true}`, withHosts(""), withHosts("a.example", ""), nil},
		"host: still every one": {`hosts: {required: true}`, withHosts(), withHosts(""), nil},
		"host: denied":          {`hosts: {denied: [bad.example]}`, withHosts("bad.example"), withHosts("*.example"), []string{`r/hosts.denied: spec.rules[0].host: "*.example" also covers the denied bad.example; write each host out`}},
		"host: other wildcard":  {`hosts: {wildcards: deny}`, withHosts("*.a.example"), withHosts("*.b.example", "*.a.example"), []string{`r/hosts.wildcards: spec.rules[0].host: "*.b.example" is a wildcard, which is denied; write each host out`}},

		"host: of the namespace": {`hosts: {allowed: ["{namespace}.example"]}`, withHosts("team-a.example", "team-b.example"), withHosts("team-b.example", "team-c.example"), []string{`r/hosts.allowed: spec.rules[1].host: "team-c.example" is not allowed; allowed: team-a.example`}},

		"hosts: as many": {`hosts: {max: 1}`, withHosts("a.example", "b.example"), withHosts("c.example", "d.example"), nil},
		"hosts: fewer":   {`hosts: {max: 1}`, withHosts("a.example", "b.example", "c.example"), withHosts("c.example", "d.example"), nil},
		"hosts: more":    {`hosts: {max: 1}`, withHosts("a.example", "b.example"), withHosts("a.example", "b.example", "c.example"), []string{`r/hosts.max: spec.rules: has 3 different hosts; at most 1 are allowed`}},

		"tls: still absent": {`tls: {required: true}`, withHosts("a.example"), withHosts("b.example"), nil},
		"tls: removed":      {`tls: {required: true}`, withTLS(withHosts("a.example"), "a.example"), withHosts("a.example"), []string{`r/tls.required: spec.tls: is not set, so plain HTTP may be served; set it`}},
		"tls: half fixed":   {`tls: {coversHosts: true}`, withHosts("a.example", "b.example"), withTLS(withHosts("a.example", "b.example"), "a.example"), nil},
		"tls: host added":   {`tls: {coversHosts: true}`, withTLS(withHosts("a.example", "b.example"), "a.example"), withTLS(withHosts("c.example", "b.example"), "a.example"), []string{`r/tls.coversHosts: spec.rules[0].host: "c.example" is not in any spec.tls[].hosts; add it or "*.example"`}},
		"http: other value": {`tls: {allowHTTP: deny}`, withAnnotations(), withAnnotations(allowHTTPAnnotation, "true"), nil},
		"http: allowed":     {`tls: {allowHTTP: deny}`, withAnnotations(allowHTTPAnnotation, "false"), withAnnotations(), []string{`r/tls.allowHTTP: metadata.annotations["kubernetes.io/ingress.allow-http"]: is not set; set it to "false" so that plain HTTP is not served`}},

		"class: moved":           {`classNames: {allowed: [ok]}`, withClass("", "bad"), withClass("bad", ""), nil},
		"class: exchanged":       {`classNames: {allowed: [ok]}`, withClass("bad", ""), withClass("worse", ""), []string{`r/classNames.allowed: spec.ingressClassName: "worse" is not allowed; allowed: ok`}},
		"class: still absent":    {`classNames: {required: true}`, withClass("", ""), withClass("", ""), nil},
		"class: contradicted":    {`classNames: {allowed: ["*"]}`, withClass("a", ""), withClass("a", "b"), []string{`r/classNames.contradiction: metadata.annotations["kubernetes.io/ingress.class"]: "b" contradicts spec.ingressClassName, which is "a"; remove the annotation`}},
		"class: as contradicted": {`classNames: {allowed: ["*"]}`, withClass("a", "b"), withClass("a", "b"), nil},

		"path: reordered":      {`paths: {types: [Exact]}`, withPaths("Prefix", "/a", "Prefix", "/b"), withPaths("Prefix", "/b", "Prefix", "/a"), nil},
		"path: of the type":    {`paths: {types: [Exact]}`, withPaths("Prefix", "/a"), withPaths("Prefix", "/a", "Prefix", "/b"), []string{`r/paths.types: spec.rules[0].http.paths[1].pathType: "Prefix" is not allowed; allowed: Exact`}},
		"path: other type":     {`paths: {types: [Exact]}`, withPaths("Prefix", "/a"), withPaths("ImplementationSpecific", "/a"), []string{`r/paths.types: spec.rules[0].http.paths[0].pathType: "ImplementationSpecific" is not allowed; allowed: Exact`}},
		"path: other type, ok": {`paths: {denied: [/admin]}`, withPaths("Prefix", "/admin"), withPaths("Exact", "/admin"), nil},
		"path: exchanged":      {`paths: {denied: [/admin]}`, withPaths("Prefix", "/admin"), withPaths("Prefix", "/admin/x"), []string{`r/paths.denied: spec.rules[0].http.paths[0].path: "/admin/x" contains "/admin", which is denied`}},
		"path: other host":     {`paths: {denied: [/]}`, withHosts("a.example"), withHosts("A.example.", "b.example"), []string{`r/paths.denied: spec.rules[1].http.paths[0].path: "/" contains "/", which is denied`}},
		"path: matched":        {`paths: {deniedPatterns: [/a+]}`, withPaths("Prefix", "/a"), withPaths("Prefix", "/aa", "Prefix", "/a"), []string{`r/paths.deniedPatterns: spec.rules[0].http.paths[0].path: "/aa" matches /a+, which is denied`}},
		"path: unsafe":         {`paths: {unsafeCharacters: deny}`, withPaths("Exact", "/a;"), withPaths("Exact", "/a;b"), []string{`r/paths.unsafeCharacters: spec.rules[0].http.paths[0].path: "/a;b" contains ';', which can inject text into the controller's configuration (CVE-2026-24512); remove it`}},

		"annotation: kept":         {`annotations: {denied: [a/*]}`, withAnnotations("a/x", "1", "a/y", "2"), withAnnotations("a/y", "2"), nil},
		"annotation: new value":    {`annotations: {denied: [a/*]}`, withAnnotations("a/x", "1"), withAnnotations("a/x", "2"), []string{`r/annotations.denied: metadata.annotations["a/x"]: is denied by a/*; remove it`}},
		"annotation: still absent": {`annotations: {required: [{key: a/x}]}`, withAnnotations(), withAnnotations("b", ""), nil},
		"annotation: removed":      {`annotations: {required: [{key: a/x}]}`, withAnnotations("a/x", ""), withAnnotations(), []string{`r/annotations.required: metadata.annotations["a/x"]: is required; set it`}},
		"annotation: other value":  {`annotations: {values: [{key: "*", value: ok}]}`, withAnnotations("a/x", "bad"), withAnnotations("a/x", "worse"), []string{`r/annotations.values: metadata.annotations["a/x"]: "worse" does not match ok`}},
		"annotation: moved value":  {`annotations: {deniedValues: [{key: "*", value: bad}]}`, withAnnotations("a/x", "bad"), withAnnotations("a/y", "bad"), []string{`r/annotations.deniedValues: metadata.annotations["a/y"]: "bad" matches bad, which is denied`}},
		"annotation: new snippet": {`ingressNginx: {maxRisk: High}`, withAnnotations("nginx.ingress.kubernetes.io/server-snippet", "return 200;"), withAnnotations("nginx.ingress.kubernetes.io/server-snippet", "return 201;"),
			[]string{`r/ingressNginx.maxRisk: metadata.annotations["nginx.ingress.kubernetes.io/server-snippet"]: has the risk Critical; at most High is allowed`}},
		"annotation: same rewrite": {`ingressNginx: {rewriteTarget: safe}`, withAnnotations("nginx.ingress.kubernetes.io/rewrite-target", "/$1?a"), withAnnotations("nginx.ingress.kubernetes.io/rewrite-target", "/$1?a", "b", ""), nil},
		"annotation: new rewrite": {`ingressNginx: {rewriteTarget: safe}`, withAnnotations("nginx.ingress.kubernetes.io/rewrite-target", "/$1?a"), withAnnotations("nginx.ingress.kubernetes.io/rewrite-target", "/$1?b"),
			[]string{`r/ingressNginx.rewriteTarget: metadata.annotations["nginx.ingress.kubernetes.io/rewrite-target"]: "/$1?b" contains '?', which can make nginx up to 1.30.0 write beyond a buffer (CVE-2026-42945); leave it out`}},

		"backend: moved":         {`backends: {services: [], ports: []}`, backends("a"), &object.Ingress{DefaultBackend: &object.IngressBackend{Service: "a", Port: 80}}, nil},
		"backend: exchanged":     {`backends: {services: []}`, backends("a"), backends("a", "b"), []string{`r/backends.services: spec.rules[0].http.paths[1].backend.service.name: "b" is not allowed; the policy allows none`}},
		"default backend: kept":  {`defaultBackend: deny`, &object.Ingress{DefaultBackend: &object.IngressBackend{}}, &object.Ingress{DefaultBackend: &object.IngressBackend{}}, nil},
		"default backend: added": {`defaultBackend: deny`, &object.Ingress{}, &object.Ingress{DefaultBackend: &object.IngressBackend{}}, []string{`r/defaultBackend: spec.defaultBackend: gets every request that no rule matches, and is denied; list hosts in spec.rules instead`}},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, test.want, denying(must(Ingresses.Evaluate(mustLoadIngressRule(t, test.rule), updating, test.new, test.old, nil))))
		})
	}
}

var updating = object.Attributes{Operation: object.Update, Namespace: "team-a", Resource: "ingresses"}
