package equivalence

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// podPolicies returns the policies that generated Pods are compared with. Together, they contain every field of the
// pods and mirrors blocks.
func podPolicies() map[string]string {
	const mirrors = `
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io}
- {name: k8s, mode: enforce, sources: [registry.k8s.io, k8s.gcr.io], mirror: mirror.corp.example/k8s}
- {name: acme, mode: enforce, sources: [ghcr.io/acme], mirror: "mirror.corp.example:443/acme"}
`
	const teams = `
mirrors:
- name: hub
  mode: enforce
  sources: [docker.io]
  mirror: mirror.corp.example/docker.io
  exclude: {images: [docker.io/library/busybox, "docker.io/library/nginx:1.25"], namespaces: [team-x], podLabels: [free]}
  imagePullSecret: mirror-login
- {name: team, mode: enforce, sources: [docker.io, ghcr.io/acme/app], mirror: team.example/x, match: {namespaces: [team-*]}, imagePullSecret: team-login}
- {name: strict, mode: enforce, sources: [docker.io, quay.io], mirror: "strict.example:5000", match: {namespaces: [other], podLabels: [strict]}}
- {name: registries, mode: enforce, sources: [ghcr.io, quay.io/one], mirror: "under_score.example/{registry}"}
`
	return map[string]string{
		"readme": mirrors + `
pods:
- {name: only-mirrors, mode: enforce, images: {from: mirrors, allowed: [quay.io/acme/*, "quay.io/one:1.0"]}}
- {name: hygiene, mode: enforce, message: "ask #images", images: {deniedTags: [latest, "dev-*"], digest: required}}
- {name: hints, mode: audit, images: {digest: required}}
`,
		"lists": `
pods:
- name: allowed
  mode: enforce
  match: {namespaces: [team-*, other]}
  exclude: {namespaces: [team-x], podLabels: [free, tier=front-*], images: [docker.io/library/busybox, "ghcr.io/acme/app:1"]}
  images: {allowed: [docker.io, ghcr.io/acme/*, "quay.io/one:1.0", "192.0.2.1:5000", "[2001:db8::1]:5000/x", "foo:443/bar"]}
- {name: nothing, mode: warn, match: {podLabels: [strict]}, images: {allowed: []}}
- name: denied
  mode: enforce
  images:
    denied: [docker.io/nginx, docker.io/evil, "docker.io/library/redis:7", ghcr.io/acme/app/*, "quay.io/one:1.0", "reg.example:5000/team/*"]
    deniedTags: ["*-rc*", latest]
- {name: tags, mode: warn, images: {deniedTags: [latest, "v*", "*"]}}
`,
		"rewriting": teams,
		// Images of an entry that has ended have the routes of other entries, with the same source or a shorter one.
		"ended": `
mirrors:
- {name: trial, mode: warn, sources: [docker.io, quay.io/one], mirror: team.example/x, match: {namespaces: [team-*]}, until: 2026-01-01}
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io}
- {name: app, mode: audit, sources: [ghcr.io/acme/app], mirror: "strict.example:5000", until: 2026-01-01}
- {name: acme, mode: enforce, sources: [ghcr.io/acme], mirror: mirror.corp.example/acme, match: {namespaces: [team-*]}}
- {name: others, mode: audit, sources: [ghcr.io/acme], mirror: under_score.example, match: {namespaces: [other]}, until: 2026-01-01}
- {name: all, mode: enforce, sources: [ghcr.io], mirror: mirror.corp.example/ghcr.io}
pods:
- {name: from, mode: enforce, images: {from: mirrors}}
`,
		"only ended": `
mirrors:
- {name: trial, mode: warn, sources: [docker.io], mirror: mirror.corp.example/docker.io, until: 2026-01-01}
pods:
- {name: from, mode: enforce, images: {from: mirrors}}
`,
		"qualify": `
mirrors:
- {name: names, mode: enforce, sources: [docker.io], qualify: true}
pods:
- {name: qualified, mode: enforce, exclude: {images: [docker.io/library/busybox]}, images: {qualified: true}}
- {name: from, mode: warn, images: {from: mirrors}}
`,
		"short names": `
shortNameRegistry: quay.io
mirrors:
- {name: names, mode: enforce, sources: [quay.io], qualify: true, imagePullSecret: login}
- {name: acme, mode: enforce, sources: [quay.io/acme], mirror: mirror.corp.example/acme}
- {name: team, mode: enforce, sources: [quay.io], mirror: team.example/x, match: {namespaces: [team-*]}}
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io}
pods:
- {name: qualified, mode: enforce, images: {qualified: true}}
- {name: denied, mode: enforce, images: {denied: [quay.io/evil, docker.io/redis], deniedTags: [v1]}}
- {name: from, mode: warn, images: {from: mirrors, allowed: [quay.io/team]}}
`,
		"teams": teams + `
pods:
- {name: from, mode: enforce, images: {from: mirrors}}
- {name: denied, mode: enforce, exclude: {podLabels: [strict]}, images: {denied: [docker.io/library/nginx], deniedTags: [latest]}}
`,
	}
}

func TestPods(t *testing.T) {
	compareGenerated(t, podPolicies(), 1, generatePod, export.VAP, export.MAP)
}

// generatePod returns a request with a Pod. In half of the cases, it is an update with changes.
func generatePod(r *rand.Rand) request {
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": podMeta(r), "spec": podSpec(r)}
	req := request{object: pod, namespace: pick(r, "team-a", "team-x", "other", "else"), user: pick(r, "jane", "bob")}
	if annotations := recordOf(r, pod); annotations != nil {
		pod["metadata"].(map[string]any)["annotations"] = annotations
	}
	if r.IntN(2) == 0 {
		return req
	}
	old := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": podMeta(r), "spec": podSpec(r)}
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers", "volumes"} {
		was, _ := pod["spec"].(map[string]any)[list].([]any)
		if r.IntN(3) == 0 || len(was) == 0 {
			continue
		}
		now := make([]any, len(was))
		for i := range was {
			if now[i] = was[i]; r.IntN(3) == 0 && list != "volumes" {
				now[i] = map[string]any{"name": was[i].(map[string]any)["name"], "image": image(r)}
			}
		}
		old["spec"].(map[string]any)[list] = now
	}
	if r.IntN(2) == 0 {
		old["metadata"] = pod["metadata"]
	}
	req.old = old
	if r.IntN(4) == 0 {
		req.subresource = "ephemeralcontainers"
	}
	return req
}

func podMeta(r *rand.Rand) map[string]any {
	meta := map[string]any{"name": "p"}
	if r.IntN(2) == 0 {
		labels := map[string]any{"app": "x"}
		for _, label := range [][2]string{{"free", ""}, {"strict", "y"}, {"tier", "front-a"}} {
			key, value := label[0], label[1]
			if r.IntN(4) == 0 {
				labels[key] = value
			}
		}
		meta["labels"] = labels
	}
	return meta
}

func podSpec(r *rand.Rand) map[string]any {
	spec := map[string]any{}
	for list, most := range inOrder(map[string]int{"containers": 3, "initContainers": 1, "ephemeralContainers": 1}) {
		var all []any
		n := r.IntN(most + 1)
		if list == "containers" {
			n++
		}
		if r.IntN(60) == 0 {
			n = 15
		}
		for i := range n {
			c := map[string]any{"name": fmt.Sprintf("%c%d", list[0], i), "image": image(r)}
			if r.IntN(4) == 0 {
				c["imagePullPolicy"] = pick(r, "Never", "Always")
			}
			all = append(all, c)
		}
		if all != nil {
			spec[list] = all
		}
	}
	if r.IntN(4) == 0 {
		spec["volumes"] = []any{
			map[string]any{"name": "e", "emptyDir": map[string]any{}},
			map[string]any{"name": "v", "image": map[string]any{
				"reference": image(r), "pullPolicy": pick(r, "IfNotPresent", "Never"),
			}},
		}
	}
	if r.IntN(6) == 0 {
		spec["imagePullSecrets"] = []any{map[string]any{"name": pick(r, "mirror-login", "other")}}
	}
	return spec
}

// recordOf returns annotations with a record of original images. Some entries of the record are true.
func recordOf(r *rand.Rand, pod map[string]any) map[string]any {
	switch r.IntN(8) {
	case 0:
		return map[string]any{"a": strings.Repeat("x", r.IntN(2)*(250<<10))}
	case 1, 2:
		var pairs []string
		for _, list := range []string{"containers", "initContainers", "volumes"} {
			all, _ := pod["spec"].(map[string]any)[list].([]any)
			for _, c := range all {
				ref, _ := c.(map[string]any)["image"].(string)
				if ref == "" || strings.ContainsAny(ref, "\"\\\n\x00") {
					continue
				}
				if r.IntN(2) == 0 {
					c.(map[string]any)["image"] = pick(r, "mirror.corp.example/docker.io/", "team.example/x/") + "library/nginx:1.25"
					ref = "nginx:1.25"
				}
				pairs = append(pairs, fmt.Sprintf("%q%s%q", list+"/"+c.(map[string]any)["name"].(string), pick(r, ":", ": "), ref))
			}
		}
		return map[string]any{"evergate.dev/original-images": "{" + strings.Join(pairs, pick(r, ",", ", ")) + "}"}
	}
	return nil
}

// image returns a valid or an invalid image reference.
func image(r *rand.Rand) string {
	if r.IntN(25) == 0 {
		return pick(r, "", "Nginx", "nginx:", "https://docker.io/nginx", "a b", "nginx@sha256:12", "sha256:12ab",
			strings.Repeat("a", 64),
			"ünix/x", strings.Repeat("a/", 200)+"x", strings.Repeat("x",
				1025), "docker.io./x", "[::1", "[x]/y", "[]/y", "[::g]:5/x",
			"a.example/"+strings.Repeat("x", 255), "a.example/"+strings.Repeat("x", 256), strings.Repeat("x",
				247), strings.Repeat("x", 248),
			"a_b.example/"+strings.Repeat("x", 243), "a_b.example/"+strings.Repeat("x", 244), "docker.io/"+
				strings.Repeat("x", 236)+"/y",
			"reg.example:0/x", "reg.example:65536/x", "reg.example:/x", "-a.example/x", "a..b/x", "A_b.c/x", "a_b:5000/x",
			"x/y@sha512:"+strings.Repeat("a", 128),
			"x/y@sha384:"+strings.Repeat("b", 96), "x@sha1:"+strings.Repeat("b",
				40), "REG.\u212a.example/x", "mirror.corp.example", "ghcr.io/acme/app:"+strings.Repeat("t", 129),
			"docker.io/library/sha256:12ab", "[::ffff:c000:201/x", "quay.io/a__b/c___d", "quay.io/a---b/c.d_e")
	}
	registry := pick(r, "", "", "", "docker.io/", "index.docker.io/", "ghcr.io/", "quay.io/", "mirror.corp.example/",
		"registry.k8s.io/", "team.example/",
		"strict.example:5000/", "under_score.example/", "reg.example:5000/", "registry-1.docker.io/", "k8s.gcr.io/")
	if r.IntN(12) == 0 {
		registry = pick(r, "GHCR.io/", "Docker.IO/", "ghcr.io:443/", "GHCR.io:0443/", "Foo/", "foo:0443/", "localhost/",
			"localhost:443/", "Localhost/",
			"192.0.513:5000/", "192.0.2.1:5000/", "0300.0.2.1:05000/", "0xc0000201:5000/", "3221225985:5000/", "1.2.3.4.5/", "5000/", "5000:80/", "0XC0/", "a_b.1/",
			"0x/", "09.1/", "1.2.3.256/",
			"[2001:DB8:0::1]:05000/", "[2001:DB8::1]:5000/", "[::1]:443/", "[0:0:0:0:0:0:0:1]:443/", "[::FFFF:1]/", "[::ffff:c000:201]:5000/", "[::FFFF:ffff:201]/",
			"[0:0:0:0:0:ffff:c000:201]/", "[::ffff:0:0]/",
			"[2001:db8::1]:5000/", "a_b.example/", "x-.example/", "a.0x1f/", "mirror.corp.example:443/", "REG.EXAMPLE:05000/",
			"00.0x0.0.010/", "1.0x1ffffff/", "1.2.077777777777/")
	}
	path := pick(r, "nginx", "library/nginx", "acme/app", "acme/app/sub", "busybox", "evil", "evil/x", "redis", "one",
		"docker.io/library/nginx",
		"docker.io/acme", "k8s/pause", "acme", "team/x", "x", "x/y", "ghcr.io/acme/app", "library/evil", "a/b/c/d/e",
		"library/redis")
	version := pick(r, "", "", ":latest", ":1", ":1.25", ":7", ":1.0", ":v1", ":dev-1", ":x-rc1")
	if r.IntN(3) == 0 {
		version = strings.TrimSuffix(version, ":1") + "@sha256:" + strings.Repeat(pick(r, "a", "0"), 64)
	}
	return registry + path + version
}

func pick(r *rand.Rand, all ...string) string { return all[r.IntN(len(all))] }

// long returns a text that is almost too long for regular expressions, or a bit too long.
func long(r *rand.Rand) string {
	return strings.Repeat(pick(r, "x", "ü", "世"), policy.MaxRegexValue-1+r.IntN(3))
}

// A Pod with the number of images in the comment of a policy is within the API server's budget, whatever findings it
// has.
func TestLargestPod(t *testing.T) {
	t.Parallel()
	// Evergate stops at a thousand findings, and expressions do not. Weaker rules then have no findings in Evergate.
	few, _, _ := strings.Cut(podPolicies()["readme"], "- {name: hints")
	many := "\npods:\n"
	for i := range 12 {
		many += fmt.Sprintf("- {name: rule-%d, mode: enforce, images: {denied: [docker.io/x%[1]d], deniedTags: [t%[1]d]}}\n",
			i)
	}
	for name, test := range map[string]struct {
		policy string
		checks int
	}{"few checks": {few, 3}, "many checks": {many, 24}} {
		s := newSubject(t, test.policy, export.Options{Targets: []export.Target{export.VAP, export.MAP}})
		for what, image := range map[string]string{
			"denied":    "Reg.example:5000/team/" + strings.Repeat("x", 80),
			"rewritten": "docker.io/team/" + strings.Repeat("x", 20) + ":1.2.3@sha256:" + strings.Repeat("a", 64),
			"malformed": "reg.example/team/" + strings.Repeat("x", 80) + "/:1.2.3",
			// Hosts that are an IP address take the longest to check.
			"IPv6": "[2001:DB8::C9C9:1:2:3]:5000/" + strings.Repeat("x", 72),
			"IPv4": "192.168.201.201:5000/" + strings.Repeat("x", 79),
		} {
			t.Run(name+"/"+what, func(t *testing.T) { compareLarge(t, s, export.LargestPod(test.checks), image) })
		}
	}
}

// compareLarge compares three requests with a Pod of n images: a creation, an update with changes, and an update
// without changes.
func compareLarge(t *testing.T, s *subject, n int, image string) {
	t.Helper()
	pod := func(first string) map[string]any {
		containers := []any{map[string]any{"name": "first", "image": first}}
		for i := range n - 1 {
			containers = append(containers, map[string]any{"name": fmt.Sprintf("c%d", i), "image": image})
		}
		return map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"},
			"spec": map[string]any{"containers": containers},
		}
	}
	for _, old := range []map[string]any{nil, pod(image), pod("other.example/x:1")} {
		s.compare(t, request{object: pod(image), old: old, namespace: "team-a", user: "jane"})
	}
}

// inOrder yields the entries of a map in the order of their keys, so the same seed always generates the same objects.
func inOrder[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
