package offline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

// ingressAt, routeAt and openShiftAt return one-line manifests. The argument is the namespace and the name, with more
// fields of the metadata. The next arguments are the host and the path.
func ingressAt(meta, host, path string) string {
	return fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: %s, spec: {ingressClassName: nginx, `+
		`rules: [{host: "%s", http: {paths: [{path: %s, pathType: Prefix}]}}]}}`, metadata(meta), host, path)
}

func routeAt(kind, meta, parent, match string) string {
	return fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: %s, metadata: %s, spec: {hostnames: [a.example], `+
		`parentRefs: [%s], rules: [{matches: [%s]}]}}`, kind, metadata(meta), parent, match)
}

func openShiftAt(meta, path string) string {
	return fmt.Sprintf(`{apiVersion: route.openshift.io/v1, kind: Route, metadata: %s, spec: {host: a.example, path: %s}}`,
		metadata(meta), path)
}

func serviceAt(meta, selector string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: %s, spec: {selector: {%s}}}`, metadata(meta), selector)
}

// listenersAt returns a Gateway or a ListenerSet with the listener *.a.example:80.
func listenersAt(kind, meta, spec string) string {
	return fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: %s, metadata: %s, spec: {%s, listeners: `+
		`[{name: x, hostname: "*.a.example", port: 80, protocol: HTTP}]}}`, kind, metadata(meta), spec)
}

func metadata(meta string) string {
	at, more, _ := strings.Cut(meta, " ")
	namespace, name, _ := strings.Cut(at, "/")
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf(`{namespace: "%s", name: "%s"%s}`, namespace, name, more)
}

func annotated(key, value string) string { return ` annotations: {` + key + `: "` + value + `"}` }

// reviewOf reviews manifests with the fields of an entry of unique, and the rest of a policy.
func reviewOf(t *testing.T, entry, rest string, existing bool, manifests ...string) *Report {
	t.Helper()
	p, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte("apiVersion: evergate.dev/v1alpha1\n" +
		"kind: EvergatePolicy\nunique:\n- {name: one, " + entry + "}\n" + rest)})
	if err != nil {
		t.Fatal(err)
	}
	objects := ReadText("m.yaml", strings.NewReader(strings.Join(manifests, "\n---\n")))
	r := Review(Options{Policy: p, Namespace: "default", AsExisting: existing, Now: time.Date(2026, 7, 1, 0, 0, 0, 0,
		time.UTC)}, objects)
	if len(r.Errors) > 0 {
		t.Fatal(r.Errors)
	}
	return r
}

// TestDuplicates has a case for each row of docs/policy/unique.md. want is the part of the finding on the first object
// that names the other object, or empty if the objects are no duplicates. Every case is tried in both orders.
func TestDuplicates(t *testing.T) {
	const hosts, paths = "mode: enforce, what: hosts", "mode: enforce, what: hostPaths"
	const gateway, all = "{namespace: gw, name: g}", "{path: {value: /, type: PathPrefix}}"
	solver := "/.well-known/acme-challenge/token"
	a, b := ingressAt("x/a", "a.example", "/"), ingressAt("y/b", "a.example", "/b")
	canary := annotated("nginx.ingress.kubernetes.io/canary", "true")
	master := annotated("nginx.org/mergeable-ingress-type", "master")
	minion := annotated("nginx.org/mergeable-ingress-type", "minion")
	alb := annotated("alb.ingress.kubernetes.io/group.name", "shared")
	record := func(meta, set string) string {
		return serviceAt(meta+` annotations: {external-dns.alpha.kubernetes.io/hostname: a.example, `+
			`external-dns.alpha.kubernetes.io/set-identifier: "`+set+`"}`, "")
	}
	owners := "owners: [{name: shop, mode: enforce, hosts: [a.example], namespaces: [x, \"y*\"]}]\n"
	for _, test := range []struct {
		name, entry, first, second, want, rest string
	}{
		{"Ingresses", hosts, a, b, "Ingress y/b (spec.rules[0].host)", ""},
		{"upper case and spec.tls", hosts, a, strings.Replace(b, `rules: [{host: "a.example"`,
			`tls: [{hosts: [A.Example]}], rules: [{host: "b.example"`, 1), "Ingress y/b (spec.tls[0].hosts[0])", ""},
		{"an annotation", hosts, a, ingressAt("y/b"+annotated("nginx.ingress.kubernetes.io/server-alias", "a.example"),
			"b.example", "/"), `Ingress y/b (metadata.annotations["nginx.ingress.kubernetes.io/server-alias"])`, ""},
		{"wildcards of two kinds", hosts, ingressAt("x/a", "*.a.example", "/"), strings.Replace(
			routeAt("HTTPRoute", "y/b", gateway, all), "[a.example]", `["*.a.example"]`, 1), "HTTPRoute y/b", ""},
		{"a wildcard and a host below it", hosts, a, ingressAt("y/b", "*.example", "/"), "", ""},
		{"without a host", hosts, ingressAt("x/a", "", "/"), ingressAt("y/b", "", "/"), "", ""},
		{"without a host, same path", paths, ingressAt("x/a", "", "/"), ingressAt("y/b", "", "/"), "Ingress y/b", ""},
		{"other paths", paths, a, b, "", ""},
		{"the same path", paths, a, ingressAt("y/b", "a.example", "/"), "Ingress y/b (spec.rules[0].host)", ""},
		{"other classes", hosts, a, strings.Replace(b, "nginx", "internal", 1), "", ""},
		{"without a class", hosts, a, strings.Replace(b, "ingressClassName: nginx, ", "", 1), "", ""},
		{"a class in the annotation", hosts, a, strings.Replace(ingressAt("y/b"+annotated("kubernetes.io/ingress.class",
			"nginx"), "a.example", "/"), "ingressClassName: nginx, ", "", 1), "Ingress y/b", ""},
		{"the same object", hosts, a, a, "", ""},
		{"an ACME solver", hosts, a, ingressAt("y/b", "a.example", solver), "", ""},
		{"a solver with another path", hosts, a, strings.Replace(ingressAt("y/b", "a.example", solver), "paths: [",
			"paths: [{path: /, pathType: Prefix}, ", 1), "Ingress y/b", ""},
		{"an HTTPRoute of a solver", hosts, a, routeAt("HTTPRoute", "y/b", gateway, "{path: {value: "+solver+"}}"), "", ""},
		{"a canary", hosts, a, ingressAt("x/b"+canary, "a.example", "/"), "", ""},
		{"a canary in another namespace", hosts, a, ingressAt("y/b"+canary, "a.example", "/"), "Ingress y/b", ""},
		{"master and minion", hosts, ingressAt("x/a"+master, "a.example", "/"), ingressAt("y/b"+minion, "a.example", "/"),
			"", ""},
		{"a minion and an Ingress of another controller", hosts, ingressAt("x/a"+minion, "a.example", "/"), b, "Ingress y/b", ""},
		{"two minions", hosts, ingressAt("x/a"+minion, "a.example", "/"), ingressAt("y/b"+minion, "a.example", "/b"), "", ""},
		{"two minions with one path", paths, ingressAt("x/a"+minion, "a.example", "/"), ingressAt("y/b"+minion, "a.example",
			"/"), "Ingress y/b", ""},
		{"two masters", hosts, ingressAt("x/a"+master, "a.example", "/"), ingressAt("y/b"+master, "a.example", "/"),
			"Ingress y/b", ""},
		{"one ALB group", hosts, ingressAt("x/a"+alb, "a.example", "/"), ingressAt("y/b"+alb, "a.example", "/"), "", ""},
		{"another ALB group", hosts, ingressAt("x/a"+alb, "a.example", "/"), ingressAt("y/b"+strings.Replace(alb, "shared",
			"other", 1), "a.example", "/"), "Ingress y/b", ""},
		{"records", hosts, record("x/a", ""), record("y/b", "eu"), "Service y/b", ""},
		{"records with different set identifiers", hosts, record("x/a", "us"), record("y/b", "eu"), "", ""},
		{"HTTPRoutes", hosts, routeAt("HTTPRoute", "x/a", gateway, all), routeAt("HTTPRoute", "y/b", gateway,
			all), "HTTPRoute y/b (spec.hostnames[0])", ""},
		{"HTTPRoutes without matches", hosts, routeAt("HTTPRoute", "x/a", gateway, all), strings.Replace(routeAt("HTTPRoute",
			"y/b", gateway, all), "matches: ["+all+"]", "name: x", 1), "HTTPRoute y/b", ""},
		{"HTTPRoutes with other matches", hosts, routeAt("HTTPRoute", "x/a", gateway, all), routeAt("HTTPRoute", "y/b",
			gateway, "{headers: [{name: x, value: z}]}"), "", ""},
		{"HTTPRoutes with other methods", hosts, routeAt("HTTPRoute", "x/a", gateway, "{method: GET}"), routeAt("HTTPRoute",
			"y/b", gateway, "{method: POST}"), "", ""},
		{"other listeners", hosts, routeAt("HTTPRoute", "x/a", "{namespace: gw, name: g, sectionName: a}", all),
			routeAt("HTTPRoute", "y/b", "{namespace: gw, name: g, sectionName: b}", all), "", ""},
		{"all listeners", hosts, routeAt("HTTPRoute", "x/a", "{namespace: gw, name: g, sectionName: a}", all),
			routeAt("HTTPRoute", "y/b", gateway, all), "HTTPRoute y/b", ""},
		{"other Gateways", hosts, routeAt("HTTPRoute", "x/a", "{name: g}", all), routeAt("HTTPRoute", "y/b", "{name: g}",
			all), "", ""},
		{"an HTTPRoute and a GRPCRoute", hosts, routeAt("HTTPRoute", "x/a", gateway, all), routeAt("GRPCRoute", "x/b",
			gateway, "{method: {service: s}}"), "GRPCRoute x/b", ""},
		{"an HTTPRoute and a TCPRoute", hosts, routeAt("HTTPRoute", "x/a", gateway, all), routeAt("TCPRoute", "x/b"+
			annotated("external-dns.alpha.kubernetes.io/hostname", "a.example"), gateway, ""), "", ""},
		{"GRPCRoutes with other methods", hosts, routeAt("GRPCRoute", "x/a", gateway, "{method: {service: r}}"),
			routeAt("GRPCRoute", "y/b", gateway, "{method: {service: s}}"), "", ""},
		{"an Ingress and an HTTPRoute", hosts, a, routeAt("HTTPRoute", "y/b", gateway, all), "HTTPRoute y/b", ""},
		{"a team that moves to Gateway API", hosts, a, routeAt("HTTPRoute", "x/b", gateway, all), "", ""},
		{"a Gateway and its ListenerSet", hosts, listenersAt("Gateway", "gw/g", "gatewayClassName: x"), listenersAt(
			"ListenerSet", "y/b", "parentRef: {namespace: gw, name: g}"), "ListenerSet y/b (spec.listeners[0].hostname)", ""},
		{"listeners of two Gateways", hosts, listenersAt("Gateway", "gw/g", "gatewayClassName: x"), listenersAt("Gateway",
			"y/b", "gatewayClassName: x"), "", ""},
		{"a listener and its route", hosts, listenersAt("Gateway", "gw/g", "gatewayClassName: x"), strings.Replace(
			routeAt("HTTPRoute", "y/b", gateway, all), "[a.example]", `["*.a.example"]`, 1), "", ""},
		{"OpenShift Routes", hosts, openShiftAt("x/a", "/a"), openShiftAt("y/b", "/b"), "Route y/b (spec.host)", ""},
		{"OpenShift Routes of a namespace", hosts, openShiftAt("x/a", "/a"), openShiftAt("x/b", "/b"), "", ""},
		{"OpenShift Routes with one path", hosts, openShiftAt("x/a", "/a"), openShiftAt("x/b", "/a"), "Route x/b", ""},
		{"InterNamespaceAllowed", paths, openShiftAt("x/a", "/a"), openShiftAt("y/b", "/b"), "", ""},
		{"InterNamespaceAllowed with one path", paths, openShiftAt("x/a", "/a"), openShiftAt("y/b", "/a"), "Route y/b", ""},
		{"shareWithin: namespace", hosts + ", shareWithin: namespace", a, ingressAt("x/b", "a.example", "/"), "", ""},
		{"other namespaces", hosts + ", shareWithin: namespace", a, b, "Ingress y/b", ""},
		{"shareWithin: owner", hosts + ", shareWithin: owner", a, b, "", owners},
		{"not of the owner", hosts + ", shareWithin: owner", a, ingressAt("z/b", "a.example", "/"), "Ingress z/b", owners},
		{"scope: namespace", hosts + ", scope: namespace", a, b, "", ""},
		{"excluded", hosts + ", exclude: {namespaces: [y]}", a, b, "", ""},
		{"selectors", "mode: enforce, what: serviceSelectors", serviceAt("x/a", "b: c, a: b"), serviceAt("x/b", "a: b, b: c"),
			`the selector "a=b,b=c" is also claimed by Service x/b (spec.selector)`, ""},
		{"selectors of two namespaces", "mode: enforce, what: serviceSelectors", serviceAt("x/a", "a: b"),
			serviceAt("y/b", "a: b"), "", ""},
		{"selectors in the cluster", "mode: enforce, what: serviceSelectors, scope: cluster", serviceAt("x/a", "a: b"),
			serviceAt("y/b", "a: b"), "Service y/b", ""},
		{"no selector", "mode: enforce, what: serviceSelectors", serviceAt("x/a", ""), serviceAt("x/b", ""), "", ""},
		{"annotations of two kinds", "mode: enforce, what: annotation, annotation: ip", serviceAt("x/a"+annotated("ip",
			"192.0.2.1"), ""), ingressAt("y/b"+annotated("ip", "192.0.2.1"), "b.example", "/"), `the value "192.0.2.1" is also ` +
			`claimed by Ingress y/b (metadata.annotations["ip"])`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, existing := range []bool{false, true} {
				r := reviewOf(t, test.entry, test.rest, existing, test.first, test.second)
				back := reviewOf(t, test.entry, test.rest, existing, test.second, test.first)
				switch n := r.Summary.Duplicates; {
				case n != back.Summary.Duplicates, (n == 0) != (test.want == ""), n%2 != 0:
					t.Errorf("%d duplicates, and %d in the other order; want %q", n, back.Summary.Duplicates, test.want)
				case n > 0 && (r.ExitCode() != 1 || !slices.ContainsFunc(r.Results, func(r Result) bool {
					return strings.Contains(r.Findings[0].Message, test.want)
				})):
					t.Errorf("exit code %d: %+v", r.ExitCode(), r.Results)
				}
			}
		})
	}
}

// A finding has the dates of both objects, and the audit counts it. In mode warn, and with an exception, the exit code
// is 0.
func TestDuplicateFindings(t *testing.T) {
	a := ingressAt(`x/a creationTimestamp: "2026-05-06T07:08:09Z"`, "a.example", "/")
	b := ingressAt(`y/b creationTimestamp: "2025-01-02T00:00:00Z"`, "a.example", "/")
	c := ingressAt("y/c", "a.example", "/")
	r := reviewOf(t, `mode: warn, message: "#net", what: hosts, redact: true`, `exceptions:
- {name: ticket, rules: [one], match: {namespaces: [y]}, until: 2030-01-01, reason: why}
`, true, a, b, c)
	var got []string
	for _, result := range r.Results {
		for _, f := range result.Findings {
			got = append(got, string(f.Effect)+" "+f.String()+" / "+f.Redacted)
		}
	}
	hidden := `"a.example" is also claimed by an object in another namespace`
	if diff := cmp.Diff([]string{
		`warning one/unique: spec.rules[0].host: "a.example" is also claimed by Ingress y/b (spec.rules[0].host, created ` +
			`2025-01-02); this object was created 2026-05-06 (#net) / ` + hidden,
		`exempt one/unique: spec.rules[0].host: "a.example" is also claimed by Ingress x/a (spec.rules[0].host, created ` +
			`2026-05-06); this object was created 2025-01-02 (#net) (exempt until 2030-01-01 by ticket: why) / ` + hidden,
		`exempt one/unique: spec.rules[0].host: "a.example" is also claimed by Ingress x/a (spec.rules[0].host, created ` +
			`2026-05-06) (#net) (exempt until 2030-01-01 by ticket: why) / ` + hidden,
	}, got); diff != "" {
		t.Error(diff)
	}
	s := r.Summary
	if r.ExitCode() != 0 || s.Warned != 0 || s.Duplicates != 1 || r.Counts.Findings[FindingCount{"x", "one", "unique",
		"warn"}] != 1 {
		t.Errorf("exit code %d, %+v, %v", r.ExitCode(), s, r.Counts.Findings)
	}
	p := output.Printer{Options: output.Options{OnlyFailures: true}}
	reviewOf(t, "mode: enforce, what: hosts", "", false, a, b).WriteText(&p)
	if !strings.Contains(p.String(), "also claimed by Ingress y/b") {
		t.Error(p.String())
	}
}

// An object is found among many objects that share its host with each other.
func TestDuplicateAmongMany(t *testing.T) {
	var manifests []string
	for i := range 200 {
		manifests = append(manifests, ingressAt(fmt.Sprintf("x/a%d", i), "a.example", "/"))
	}
	manifests = append(manifests, ingressAt("y/b", "a.example", "/"))
	r := reviewOf(t, "mode: enforce, what: hosts, shareWithin: namespace", "", false, manifests...)
	if r.Summary.Duplicates != 201 {
		t.Errorf("%d duplicates", r.Summary.Duplicates)
	}
}
