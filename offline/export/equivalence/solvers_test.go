package equivalence

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// certManager is the account that creates the solvers of ACME challenges.
const certManager = "system:serviceaccount:cert-manager:cert-manager"

// Both decide in the same way about solvers of ACME challenges, about similar objects, and about Ingresses whose
// annotations request certificates.
func TestSolvers(t *testing.T) {
	const rules = `
ingresses:
- name: web
  mode: enforce
  tls: {required: true, coversHosts: true, allowHTTP: deny}
  classNames: {required: true, allowed: [public, alb, gce]}
  paths: {types: [Exact, Prefix], denied: [challenge]}
  annotations: {denied: ["nginx.ingress.kubernetes.io/*"], required: [{key: corp.example/owner}]}
- {name: tls, mode: warn, tls: {required: true}}
services:
- name: inside
  mode: enforce
  types: {allowed: [ClusterIP]}
  ports: {allowed: ["443"]}
  nodePorts: {allowed: []}
  annotations: {denied: ["auth.istio.io/*"], required: [{key: corp.example/owner}]}
routes:
- name: shared
  mode: enforce
  kinds: [HTTPRoute]
  paths: {types: [PathPrefix], denied: [challenge]}
  parents: {allowed: [{namespace: edge, name: public, sectionName: https}]}
  annotations: {required: [{key: corp.example/owner}]}
`
	compareGenerated(t, map[string]string{
		"default": rules,
		"listed":  "solverAccounts: [acme, " + certManager + "]\n" + rules,
		"nobody":  "solverAccounts: []\n" + rules,
	}, 5, generateSolver, export.VAP)
}

// generateSolver returns a request with a solver or a similar object.
func generateSolver(r *rand.Rand) request {
	kind := pick(r, "Ingress", "Ingress", "Service", "HTTPRoute")
	req := changed(r, func() map[string]any { return solverLike(r, kind) })
	req.user = pick(r, certManager, certManager, "acme", "jane")
	return req
}

func solverLike(r *rand.Rand, kind string) map[string]any {
	meta, spec := map[string]any{"name": "p"}, map[string]any{}
	if r.IntN(8) > 0 {
		meta["labels"] = map[string]any{"acme.cert-manager.io/http01-solver": pick(r, "true", "true", "true", "false")}
	}
	annotations := map[string]any{}
	if r.IntN(3) > 0 {
		annotations["nginx.ingress.kubernetes.io/whitelist-source-range"] = pick(r, "0.0.0.0/0,::/0", "0.0.0.0/0")
		annotations["auth.istio.io/8089"] = pick(r, "NONE", "x")
	}
	if r.IntN(6) == 0 {
		annotations["corp.example/owner"] = "x"
	}
	path := func() string {
		return pick(r, "/.well-known/acme-challenge/x_Y-1", "/.well-known/acme-challenge/x_Y-1",
			"/.well-known/acme-challenge/",
			"/", "/.well-known/acme-challenge/x/../y", "/.well-known/acme-challenge/x\n")
	}
	version := "gateway.networking.k8s.io/v1"
	switch kind {
	case "Ingress":
		version = "networking.k8s.io/v1"
		spec = solverIngress(r, path)
		tlsAnnotations(r, annotations)
	case "Service":
		version = "v1"
		spec["type"] = pick(r, "NodePort", "NodePort", "ClusterIP", "LoadBalancer")
		spec["ports"] = []any{
			map[string]any{"port": 8089 - r.IntN(5)/4, "nodePort": 30001}, map[string]any{"port": 80},
		}[:2-min(1, r.IntN(4))]
	default:
		for range r.IntN(3) {
			rule := map[string]any{}
			for range r.IntN(3) {
				rule["matches"] = added(rule["matches"], map[string]any{"path": map[string]any{
					"type": pick(r, "Exact", "Exact", "Exact", "PathPrefix"), "value": path(),
				}})
			}
			spec["rules"] = added(spec["rules"], rule)
		}
		parent := map[string]any{"name": pick(r, "public", "public", "private"), "namespace": "edge"}
		maybe(r, parent, "sectionName", "http", "https")
		spec["parentRefs"] = []any{parent}
	}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	return map[string]any{"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}
}

func solverIngress(r *rand.Rand, path func() string) map[string]any {
	spec := map[string]any{}
	maybe(r, spec, "ingressClassName", "public", "alb", "alb", "gce", "traefik", "kong",
		"azure-application-gateway", "nginx")
	if r.IntN(8) == 0 {
		spec["tls"] = []any{map[string]any{"hosts": []any{"a.example.com"}}}
	}
	if r.IntN(8) == 0 {
		spec["defaultBackend"] = map[string]any{"service": map[string]any{"name": "x", "port": map[string]any{"number": 80}}}
	}
	for range r.IntN(3) {
		rule := map[string]any{"host": pick(r, "a.example.com", "b.example.com")}
		var paths []any
		for range r.IntN(3) {
			paths = append(paths, map[string]any{"path": path(), "pathType": pick(r, "ImplementationSpecific", "Exact")})
		}
		if paths != nil {
			rule["http"] = map[string]any{"paths": paths}
		}
		spec["rules"] = added(spec["rules"], rule)
	}
	return spec
}

// tlsAnnotations adds annotations that determine which classes use TLS.
func tlsAnnotations(r *rand.Rand, annotations map[string]any) {
	table := policy.TLSClasses()
	c := table[r.IntN(len(table))]
	maybe(r, annotations, "kubernetes.io/ingress.class", c.Names...)
	for _, a := range c.Ways[r.IntN(len(c.Ways))].Annotations {
		key := strings.Replace(a.Key, "*", pick(r, "nginx.org", "traefik.ingress.kubernetes.io"), 1)
		key = pick(r, key, key, strings.Replace(key, "/r", "/R", 1), strings.Replace(key, "/ssl", "/SSL", 1))
		maybe(r, annotations, key, append(slices.Clone(a.Values), "x", "", "false", ", \t,")...)
	}
	maybe(r, annotations, "alb.ingress.kubernetes.io/listen-ports", `[{"HTTPS":443}]`, `[ {"HTTP": 80},{"HTTPS":443} ]`,
		`[{"HTTP":80}]`, `[{"HTTPS":443,"HTTP":80}]`, "[]", "", `[{"HTTPS":0443}]`, `[{"HTTPS":443},]`, `[{"HTTPS":123456}]`)
	maybe(r, annotations, "alb.ingress.kubernetes.io/ssl-redirect", "443", "44", `443,"HTTP":80`, "")
}
