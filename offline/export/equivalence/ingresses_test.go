package equivalence

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/evergate/evergate/offline/export"
)

// ingressPolicies returns the policies that generated Ingresses are compared with. Together, they contain every
// exported field.
func ingressPolicies() map[string]string {
	return map[string]string{
		"tls": `
ingresses:
- {name: tls, mode: enforce, message: "ask #net", tls: {required: true, coversHosts: true, allowHTTP: deny}}
- {name: backend, mode: enforce, defaultBackend: deny}
- {name: classes, mode: enforce, classNames: {required: true, allowed: [internal, "public-*"]}}
`,
		"hosts": `
annotationPrefixes: {ingressNginx: [dns.example], externalDNS: [dns.example], haproxyIngress: [dns.example]}
hostAnnotations: [{key: "hosts.example/*", kinds: [Ingress, Service], grammar: certificate}, {key: hosts.example/any, kinds: [Service, Ingress], grammar: any}, {key: hosts.example/a, kinds: [Ingress, Service], grammar: dns}, {key: "hosts.example/*b", kinds: [Ingress, Service], grammar: dns}, {key: "*/*-names", kinds: [Ingress, Service], grammar: dns}, {key: "*.kubernetes.io/h*", kinds: [Ingress, Service], grammar: dns}]
ingresses:
- {name: alb, mode: enforce, annotations: {denied: ["alb.ingress.kubernetes.io/conditions.*"]}}
- name: allowed
  mode: enforce
  hosts:
    required: true
    allowed: [a.example.com, "*.b.example.com", "**.deep.example.com", "{namespace}.corp.example", "*.{namespace}.corp.example", "**.x.{namespace}.corp.example"]
    wildcards: deny
    max: 3
- name: denied
  mode: enforce
  exclude: {labels: [free]}
  hosts: {denied: [b.example.com, "*.evil.example", "**.bad.example", a.b.c.example, x.com]}
- {name: one, mode: warn, hosts: {allowed: ["**"], max: 1, required: true}}
- {name: covered, mode: warn, tls: {coversHosts: true}}
- {name: none, mode: audit, match: {labels: [free]}, hosts: {allowed: []}}
- {name: deep, mode: audit, hosts: {allowed: ["**.com", "*.x.example"], denied: ["**.c.example"]}}
`,
		"globbing": `
globbingClasses: [other, "public-*", "!public-a", "!nginx", "!in*"]
ingresses:
- {name: alb, mode: enforce, annotations: {denied: ["alb.ingress.kubernetes.io/conditions.*"]}}
- {name: hosts, mode: enforce, hosts: {required: true, allowed: ["*.b.example.com", "**.example", "*.{namespace}.corp.example"], max: 1}}
- {name: deep, mode: warn, hosts: {denied: [a.b.c.example, x.y.b.example.com], wildcards: deny, max: 2}}
- {name: covered, mode: enforce, match: {classNames: ["public-*", alb]}, exclude: {classNames: [public-b]}, tls: {coversHosts: true}}
- {name: class, mode: warn, classNames: {required: true}}
- {name: none, mode: audit, exclude: {labels: [free]}, classNames: {allowed: []}}
`,
		"paths": `
ingresses:
- name: paths
  mode: enforce
  match: {namespaces: [team-*], groups: [devs, system:*]}
  exclude: {users: [bob]}
  paths: {types: [Exact, Prefix], deniedPatterns: ["/admin.*", ".*[.]php"], denied: [/Admin, .env, "ü1"], unsafeCharacters: deny}
- name: keys
  mode: enforce
  annotations:
    denied: ["*/configuration-snippet"]
    required: [{key: example.com/team, value: "[a-z]+"}]
    values: [{key: "example.com/*", value: "[a-z0-9]*"}]
    deniedValues: [{key: "*", value: ".*;.*"}]
`,
	}
}

func TestIngresses(t *testing.T) {
	compareGenerated(t, ingressPolicies(), 3, generateIngress, export.VAP)
}

// generateIngress returns a request with an Ingress. In half of the cases, it is an update with changes.
func generateIngress(r *rand.Rand) request {
	req := request{object: ingress(r), namespace: pick(r, "team-a", "other"), user: pick(r, "jane", "bob", "jane")}
	if r.IntN(3) > 0 {
		req.groups = []string{"system:authenticated", pick(r, "devs", "ops")}
	}
	if r.IntN(2) == 0 {
		return req
	}
	req.old = ingress(r)
	for _, field := range []string{"spec", "metadata"} {
		was, now := req.old[field].(map[string]any), req.object[field].(map[string]any)
		for key, value := range inOrder(now) {
			if r.IntN(3) > 0 {
				was[key] = value
			}
		}
	}
	return req
}

func ingress(r *rand.Rand) map[string]any {
	spec := map[string]any{}
	if r.IntN(3) > 0 {
		spec["ingressClassName"] = pick(r, "internal", "public-a", "public-b", "alb", "nginx", "other")
	}
	if r.IntN(4) == 0 {
		spec["defaultBackend"] = map[string]any{"service": map[string]any{"name": "x", "port": map[string]any{"number": 80}}}
	}
	if rules := ingressRules(r); rules != nil {
		spec["rules"] = rules
	}
	if r.IntN(3) > 0 {
		spec["tls"] = ingressTLS(r, spec["rules"])
	}
	meta := map[string]any{"name": "p"}
	if r.IntN(3) == 0 {
		meta["labels"] = map[string]any{"free": "y"}
	}
	annotations := map[string]any{}
	for range r.IntN(4) {
		key := pick(r, "nginx.ingress.kubernetes.io/configuration-snippet", "example.com/team", "example.com/x",
			"kubernetes.io/ingress.allow-http", "nginx.ingress.kubernetes.io/use-regex", "x.example/rewrite-target",
			"nginx.org/path-regex")
		annotations[key] = pick(r, "false", "true", "abc", "a;b", "X")
	}
	if r.IntN(3) == 0 {
		annotations["kubernetes.io/ingress.class"] = pick(r, "internal", "public-a", "public-b", "alb", "nginx", "other")
	}
	for r.IntN(3) == 0 {
		key, value := hostAnnotation(r, "Ingress")
		annotations[key] = value
	}
	if r.IntN(3) == 0 {
		tlsAnnotations(r, annotations)
	}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	return map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta, "spec": spec}
}

func ingressRules(r *rand.Rand) (rules []any) {
	for range r.IntN(4) {
		rule := map[string]any{}
		if h := host(r); h != "" {
			rule["host"] = h
		}
		var paths []any
		for range r.IntN(3) {
			path := map[string]any{"path": pick(r, "/", "/admin", "/ADMIN/x", "/x.php", "/a\"b", "/a`b", "/über",
				"/a.min", "/[a]dmin",
				"/x(/|$)(.*)", "/.nv", "/a\\b", "/a'b{c};#d e\tf", "/\u2028", "/x\x00\x1f\x7f\u0085\u00a0\u3000\r", "/..1", "/ü1",
				"/"+strings.Repeat("x", 70)+";")}
			if r.IntN(5) > 0 {
				path["pathType"] = pick(r, "Exact", "Prefix", "ImplementationSpecific")
			}
			paths = append(paths, path)
		}
		if paths != nil {
			rule["http"] = map[string]any{"paths": paths}
		}
		rules = append(rules, rule)
	}
	return rules
}

// ingressTLS returns spec.tls, with hosts of the rules in half of the cases.
func ingressTLS(r *rand.Rand, rules any) (tls []any) {
	of, _ := rules.([]any)
	for range 1 + r.IntN(2) {
		var hosts []any
		if r.IntN(2) == 0 {
			for _, rule := range of {
				if h, ok := rule.(map[string]any)["host"]; ok && r.IntN(3) > 0 {
					hosts = append(hosts, h)
				}
			}
		}
		for range r.IntN(3) {
			if h := host(r); h != "" {
				hosts = append(hosts, h)
			}
		}
		element := map[string]any{}
		if hosts != nil {
			element["hosts"] = hosts
		}
		maybe(r, element, "secretName", "web-tls")
		tls = append(tls, element)
	}
	return tls
}

// An Ingress with the number of hosts in the comment of a policy is within the API server's budget, even if each host
// is denied. At most a thousand hosts are read from annotations.
func TestLargestIngress(t *testing.T) {
	t.Parallel()
	s := newSubject(t, `
ingresses:
- {name: alb, mode: enforce, annotations: {denied: ["alb.ingress.kubernetes.io/conditions.*"]}}
- {name: allowed, mode: enforce, hosts: {required: true, allowed: ["*.apps.example.com", "**.x.example.com"], denied: ["**.evil.example"], wildcards: deny, max: 1000}}
- {name: covered, mode: enforce, tls: {coversHosts: true}}
`, export.Options{Targets: []export.Target{export.VAP}})
	for domain, n := range map[string]int{
		"x.example.com": 3 * export.LargestIngress, "long-name.of-a.host.evil.example": export.LargestIngress,
	} {
		t.Run(domain, func(t *testing.T) {
			object, old := ingressOf(n, "app", domain), ingressOf(n, "old", domain)
			for _, old := range []map[string]any{nil, object, old} {
				s.compare(t, request{object: object, old: old, namespace: "team-a", user: "jane"})
			}
		})
	}
	many := newSubject(t, `
services: [{name: s, mode: enforce, hosts: {denied: ["**.evil.example"]}}]
ingresses:
- {name: alb, mode: enforce, annotations: {denied: ["alb.ingress.kubernetes.io/conditions.*"]}}
- {name: i, mode: enforce, hosts: {denied: ["**.evil.example"]}}
`, export.Options{Targets: []export.Target{export.VAP}})
	service := func(n int) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Service", "spec": map[string]any{}, "metadata": map[string]any{
			"name": "s", "annotations": map[string]any{
				"external-dns.alpha.kubernetes.io/hostname": strings.Repeat("a.example, ", n/2),
				"external-dns.kubernetes.io/hostname":       strings.Repeat("b.example,,", n-n/2),
			},
		}}
	}
	for _, n := range []int{999, 1000, 1001, 1500} {
		for _, old := range []map[string]any{nil, service(n), service(2000)} {
			many.compare(t, request{object: service(n), old: old, namespace: "team-a", user: "jane"})
		}
	}
	if many.denied != 4 { // if the Service is new or changed
		t.Errorf("%d Services are denied", many.denied)
	}
	ingress := func(n int) map[string]any {
		object := ingressOf(n, "h", "example")
		object["metadata"].(map[string]any)["annotations"] = map[string]any{
			"cert-manager.io/alt-names":                        strings.Repeat("a.example,", 999) + "more than 1000 names,b.example",
			"nginx.ingress.kubernetes.io/from-to-www-redirect": "true",
		}
		return object
	}
	idle := ingress(4) // its last host is only in spec.tls
	spec := idle["spec"].(map[string]any)
	spec["rules"] = spec["rules"].([]any)[:3]
	for _, old := range []map[string]any{ingress(4), ingress(3), idle} {
		many.compare(t, request{object: ingress(4), old: old, namespace: "team-a", user: "jane"})
	}
	if many.denied != 6 { // if it serves another host
		t.Errorf("%d Services and Ingresses are denied", many.denied)
	}
}

// A host that is added next to a place in which it is idle is compared with the old object.
func TestIdleHosts(t *testing.T) {
	t.Parallel()
	s := newSubject(t, `
ingresses:
- {name: alb, mode: enforce, annotations: {denied: ["alb.ingress.kubernetes.io/conditions.*"]}}
- {name: hosts, mode: enforce, hosts: {denied: [x.example]}}
`, export.Options{Targets: []export.Target{export.VAP}})
	places := []string{"rule", "tls", "external-dns.kubernetes.io/hostname", "konghq.com/host-aliases",
		"nginx.ingress.kubernetes.io/server-alias", "cert-manager.io/alt-names"}
	with := func(of ...string) map[string]any {
		rules, annotations, spec := []any{map[string]any{"host": "a.example"}}, map[string]any{}, map[string]any{}
		for _, place := range of {
			switch place {
			case "rule":
				rules = append(rules, map[string]any{"host": "x.example"})
			case "tls":
				spec["tls"] = []any{map[string]any{"hosts": []any{"x.example"}}}
			default:
				annotations[place] = "x.example"
			}
		}
		spec["rules"] = rules
		return map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": spec,
			"metadata": map[string]any{"name": "p", "annotations": annotations}}
	}
	for _, before := range places {
		for _, added := range places {
			s.compare(t, request{object: with(before, added), old: with(before), namespace: "team-a", user: "jane"})
		}
	}
	if want := 3 * 3; s.denied != want { // an effective place next to an idle one
		t.Errorf("%d updates are denied, want %d", s.denied, want)
	}
}

// ingressOf returns an Ingress of n rules, with their hosts also in spec.tls.
func ingressOf(n int, name, domain string) map[string]any {
	var rules, hosts []any
	for i := range n {
		h := name + strconv.Itoa(i) + "." + domain
		rules, hosts = append(rules, map[string]any{"host": h}), append(hosts, h)
	}
	return map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": map[string]any{"name": "p"},
		"spec": map[string]any{"rules": rules, "tls": []any{map[string]any{"hosts": hosts}}},
	}
}

// host returns a host that the API server accepts, or no host.
func host(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return pick(r, "", "a.example.com", "b.example.com", "a.b.example.com", "*.example.com", "*.b.example.com", "com",
			"x")
	}
	return pick(r, "*.com", "c.example", "a.b.c.example", "*.b.c.example", "team-a.corp.example", "x.team-a.corp.example",
		"*.team-a.corp.example", "a.x.team-a.corp.example", "other.corp.example", "a.deep.example.com",
		"*.a.deep.example.com",
		"deep.example.com", "y.evil.example", "evil.example", "z.y.evil.example", "*.bad.example", "www.a.example.com",
		strings.Repeat("a.", 126)+"a", "corp.example", "*.corp.example", "*.x.example", "bad.example")
}

// hostAnnotation returns an annotation that may contain hosts.
func hostAnnotation(r *rand.Rand, kind string) (key, value string) {
	name := func() string {
		return pick(r, host(r), host(r), "A.Example.COM", "a.example.com.", "a.example.com..", "*.B.example.com.",
			".b.example.com",
			"~^a[.]b$", "www.example.*", "_dmarc.example.com", "_ACME-challenge.a.example.com.",
			"*._domainkey.b.example.com", "_x",
			"a._x.b._y.example.com", "a_b.example.com", "all", "-x.example.com", "a b", "ünï.example", "*", "**.x", ".", "..a",
			strings.Repeat("x", 254), strings.Repeat("a.", 126)+"ab", "*."+strings.Repeat("a.", 126)+"a", "Example Root",
			"a\u00a0b",
			"https://x.example/", "x.example:80", strings.Repeat("ab", 40)+".example")
	}
	value = name()
	for range r.IntN(4) {
		value += pick(r, ",", ", ", " ,", ",\u00a0", ",\v", ",,") + name()
	}
	if r.IntN(40) == 0 {
		value = strings.Repeat("a.example.com,b.example.com,", r.IntN(40)) + name()
	}
	switch r.IntN(4) {
	case 0:
		value = pick(r, "true", "T", "1", "yes", "false", "", " ", "\u2003")
	case 2:
		value = pick(r, "Path", "PathPrefix", "PathRegexp", "Path(`/a`) || Path", "tls://a.example.com:443/x",
			"https://", "b.example.com:80",
			"x://*.b.example.com", "a://b://c", "https://b.example.com:x@c.example.com", "c.example.com/://b.example.com", value,
			value)
	case 1:
		value = pick(r, "192.0.2.1, ::ffff:192.0.2.2", "2001:DB8::1,x", "192.0.2.01", "fe80::1%eth0", "::,", "1.2.3", value)
	case 3:
		value = pick(r, "proxy_set_header A b;", "} server { server_name b.example.com; ", "listen 80;", "access_by_lua x;",
			`Host("a")`, `Path("/x")`, `Header("Host", "a")`, `Header("a", "b") && HostAny("c")`, `Ho"x"st`,
			`Path("Host\"")`, `"Host`, `PathRegexp(/^Host/)`, "`Host`", `a"\`, `"a\" Host" Ho"b"s"c"t`, value)
	}
	if kind == "Service" {
		return pick(r, "external-dns.alpha.kubernetes.io/hostname", "External-DNS.kubernetes.io/internal-hostname",
			"domainName",
			"dns.example/hostname", "haproxy-ingress.github.io/server-alias", "ingress.kubernetes.io/redirect-from-regex",
			"load-balancer.hetzner.cloud/http-managed-certificate-domains", "zalando.org/dnsname", "coredns.io/hostname",
			"k8s.ngrok.com/url", "dns.gardener.cloud/dnsnames", "getambassador.io/config", "hosts.example/Any",
			"haproxy.org/route-acl", "haproxy.com/backend-config-snippet", "dns.example/config-backend",
			"hosts.example/a", "hosts.example/B"), value
	}
	return pick(r, "external-dns.kubernetes.io/hostname", "external-dns.alpha.kubernetes.io/target", "dns.example/target",
		"cert-manager.io/common-name", "cert-manager.io/alt-names",
		"cert-manager.io/ip-sans", "cert-manager.io/ip-sans",
		"nginx.ingress.kubernetes.io/server-alias", "nginx.ingress.kubernetes.io/from-to-www-redirect",
		"dns.example/server-alias",
		"haproxy-ingress.github.io/server-alias-regex", "traefik.ingress.kubernetes.io/router.tls.domains.0.main",
		"traefik.ingress.kubernetes.io/Router.tls.domains.0.x.sans", "konghq.com/snis", "zalando.org/skipper-predicate",
		"zalando.org/skipper-routes", "dns.example/hostname", "nginx.ingress.kubernetes.io/server-snippet",
		"dns.example/configuration-snippet", "nginx.org/location-snippets", "haproxy.org/backend-config-snippet",
		"ingress.kubernetes.io/config-tcp-service", "traefik.ingress.kubernetes.io/router.pathmatcher",
		"dns.gardener.cloud/dnsnames", "k8s.ngrok.com/url", "hosts.example/any", "hosts.example/A",
		"hosts.example/b"), value
}
