package interop

import (
	"math/rand/v2"
	"testing"

	"github.com/evergate/evergate/export"
)

// ingressPolicies are policies whose Ingresses are generated. Together they have every field that is exported.
func ingressPolicies() map[string]string {
	return map[string]string{
		"tls": `
ingresses:
- {name: tls, mode: enforce, message: "ask #net", tls: {required: true, coversHosts: true, allowHTTP: deny}}
- {name: backend, mode: enforce, defaultBackend: deny}
- {name: classes, mode: enforce, classNames: {required: true, allowed: [internal, "public-*"]}}
`,
		"globbing": `
globbingClasses: [alb, "public-*"]
ingresses:
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
  paths: {types: [Exact, Prefix], deniedPatterns: ["/admin.*", ".*[.]php"]}
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
	for name, text := range ingressPolicies() {
		t.Run(name, func(t *testing.T) {
			s := newSubject(t, text, export.Options{Targets: []export.Target{export.VAP}})
			r := rand.New(rand.NewPCG(3, uint64(len(name))))
			for range objects(t) / len(ingressPolicies()) {
				s.compare(t, generateIngress(r))
				if t.Failed() {
					t.FailNow()
				}
			}
			s.report(t)
		})
	}
}

// generateIngress returns a request with an Ingress, which an update has changed in half of the cases.
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
		for key, value := range now {
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
		spec["ingressClassName"] = pick(r, "internal", "public-a", "public-b", "alb", "other")
	}
	if r.IntN(4) == 0 {
		spec["defaultBackend"] = map[string]any{"service": map[string]any{"name": "x", "port": map[string]any{"number": 80}}}
	}
	host := func() string {
		return pick(r, "", "a.example.com", "b.example.com", "a.b.example.com", "*.example.com", "*.b.example.com", "com",
			"x")
	}
	var rules []any
	for range r.IntN(4) {
		rule := map[string]any{}
		if h := host(); h != "" {
			rule["host"] = h
		}
		var paths []any
		for range r.IntN(3) {
			path := map[string]any{"path": pick(r, "/", "/admin", "/admin/x", "/x.php", "/a\"b", "/über")}
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
	if rules != nil {
		spec["rules"] = rules
	}
	if r.IntN(3) > 0 {
		var tls []any
		for range 1 + r.IntN(2) {
			element := map[string]any{}
			if h := host(); h != "" {
				element["hosts"] = []any{h, pick(r, "a.example.com", "*.example.com")}
			}
			tls = append(tls, element)
		}
		spec["tls"] = tls
	}
	meta := map[string]any{"name": "p"}
	if r.IntN(3) == 0 {
		meta["labels"] = map[string]any{"free": "y"}
	}
	annotations := map[string]any{}
	for range r.IntN(4) {
		key := pick(r, "nginx.ingress.kubernetes.io/configuration-snippet", "example.com/team", "example.com/x",
			"kubernetes.io/ingress.allow-http")
		annotations[key] = pick(r, "false", "true", "abc", "a;b", "X")
	}
	if r.IntN(3) == 0 {
		annotations["kubernetes.io/ingress.class"] = pick(r, "internal", "public-a", "public-b", "alb", "other")
	}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	return map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta, "spec": spec}
}
