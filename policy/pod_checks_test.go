package policy

import (
	"fmt"
	"strings"
	"testing"
)

func TestImagesFrom(t *testing.T) {
	const rule = "{from: mirrors}"
	const more = "{from: mirrors, allowed: [ghcr.io/acme, 'reg.example:5000/*', 'gcr.io/x:1']}"
	const nginx = "m.example/hub/library/nginx"
	testImages(t, "images.from", []imageCase{
		{rule, nginx, ""},
		{rule, "m.example/quay/x:1", ""}, // whatever the entry's mode
		{rule, "nginx", `"nginx" is not pulled from a mirror; write ` + nginx},
		{rule, "nginx:1.25@" + digest256, `"nginx:1.25@` + digest256 + `" is not pulled from a mirror; write ` + nginx + ":1.25@" + digest256},
		{rule, "quay.io/x:1", `"quay.io/x:1" is not pulled from a mirror; write m.example/quay/x:1`},
		{rule, "ghcr.io/acme/x", `"ghcr.io/acme/x" is not pulled from a mirror; allowed are m.example/hub, m.example/quay`},
		{rule, "m.example/other/x", `"m.example/other/x" is not pulled from a mirror; allowed are m.example/hub, m.example/quay`},
		{rule, "Nginx", `"Nginx" is not an image reference (invalid reference format: repository name (library/Nginx) must be lowercase), so it is not pulled from a mirror`},
		{rule, "nginx\n", `"nginx\n" is not an image reference (it has the character '\n', which no image reference has), so it is not pulled from a mirror`},
		{"{from: mirrors, allowed: []}", nginx, ""},
		{more, "ghcr.io/acme/x", ""},
		{more, "gcr.io/x:1", ""},
		{more, "gcr.io/x:2", `"gcr.io/x:2" is not pulled from a mirror; allowed are m.example/hub, m.example/quay, ghcr.io/acme, reg.example:5000/*, gcr.io/x:1`},
	})
}

// What the covering entry excludes was meant to be pulled as it is.
func TestImagesFromExcluded(t *testing.T) {
	p := mustLoad(t, "mirrors:\n"+
		mirrorText("hub", "docker.io", "m.example/hub", "exclude: {images: [docker.io/acme], namespaces: [free], podLabels: [keep]}")+
		"pods:\n- {name: r, mode: enforce, images: {from: mirrors}}\n")
	for _, test := range []struct {
		namespace, image string
		labels           map[string]string
		findings         int
	}{
		{"default", "acme/x", nil, 0},
		{"default", "nginx", nil, 1},
		{"free", "nginx", nil, 0},
		{"default", "nginx", map[string]string{"keep": ""}, 0},
		{"free", "quay.io/x", nil, 1}, // not covered, so not excluded
	} {
		pod := imagePod(test.image)
		pod.Labels = test.labels
		if got := len(p.JudgePod(Attributes{Operation: Create, Namespace: test.namespace}, pod, nil)); got != test.findings {
			t.Errorf("%+v: got %d", test, got)
		}
	}
}

func TestImagesFromNowhere(t *testing.T) {
	p := mustLoad(t, "pods:\n- {name: r, mode: enforce, images: {from: mirrors}}\n")
	const want = `r/images.from: spec.containers[0].image: "nginx" is not pulled from a mirror, and the policy has no mirrors in force`
	if f := p.JudgePod(createPod, imagePod("nginx"), nil); len(f) != 1 || f[0].String() != want {
		t.Error(f)
	}
}

func TestImagesAllowed(t *testing.T) {
	const rule = "{allowed: [docker.io/library, ghcr.io/acme/*]}"
	testImages(t, "images.allowed", []imageCase{
		{rule, "nginx:1", ""},
		{rule, "ghcr.io/acme/x", ""},
		{rule, "ghcr.io/acme", `"ghcr.io/acme" is not allowed; allowed are docker.io/library, ghcr.io/acme/*`},
		{rule, "bitnami/redis", `"bitnami/redis" is not allowed; allowed are docker.io/library, ghcr.io/acme/*`},
		{"{allowed: []}", "nginx", `"nginx" is not allowed; no image is`},
		{rule, "nginx:", `"nginx:" is not an image reference (invalid reference format), so it is not allowed`},
		{"{allowed: [a.io, b.io, c.io, d.io, e.io, f.io, g.io]}", "nginx", `"nginx" is not allowed; allowed are a.io, b.io, c.io, d.io, e.io and 2 more`},
	})
}

func TestImagesDenied(t *testing.T) {
	const rule = "{denied: [quay.io/evil, 'docker.io/library/nginx:1', 'ghcr.io/x@" + digest256 + "']}"
	const hub = "{denied: [docker.io/evil]}"
	testImages(t, "images.denied", []imageCase{
		{rule, "quay.io/evil/x:1", `"quay.io/evil/x:1" is denied by quay.io/evil`},
		{rule, "QUAY.io/evil", `"QUAY.io/evil" is denied by quay.io/evil`},
		{rule, "quay.io:443/evil/x", `"quay.io:443/evil/x" is denied by quay.io/evil`},
		{rule, "quay.io:8443/evil/x", ""},
		{rule, "quay.io/evil-not", ""},
		{rule, "nginx:1", `"nginx:1" is denied by docker.io/library/nginx:1`},
		{rule, "nginx:1@" + digest256, `"nginx:1@` + digest256 + `" is denied by docker.io/library/nginx:1`},
		{rule, "docker.io:443/library/nginx:1@" + digest256, `"docker.io:443/library/nginx:1@` + digest256 + `" is denied by docker.io/library/nginx:1`},
		{rule, "nginx:2", ""},
		{rule, "ghcr.io/x:9@" + digest256, `"ghcr.io/x:9@` + digest256 + `" is denied by ghcr.io/x@` + digest256},
		{rule, "ghcr.io/x:9", ""},
		{rule, "Nginx", ""},
		{rule, "registry-1.docker.io/library/nginx:1", `"registry-1.docker.io/library/nginx:1" is denied by docker.io/library/nginx:1`},
		{rule, "registry.hub.docker.com/library/nginx:1", `"registry.hub.docker.com/library/nginx:1" is denied by docker.io/library/nginx:1`},
		{rule, "index.docker.io:443/library/nginx:1", `"index.docker.io:443/library/nginx:1" is denied by docker.io/library/nginx:1`},
		{hub, "evil", `"evil" is denied by docker.io/evil`},
		{hub, "docker.io/library/evil:1", `"docker.io/library/evil:1" is denied by docker.io/evil`},
		{hub, "registry-1.docker.io:443/library/evil", `"registry-1.docker.io:443/library/evil" is denied by docker.io/evil`},
		{hub, "evil/x", `"evil/x" is denied by docker.io/evil`},
		{hub, "registry-1.docker.io/evil/x", `"registry-1.docker.io/evil/x" is denied by docker.io/evil`},
		{hub, "evils", ""},
		{hub, "docker.io/not/evil", ""},
		{hub, "ghcr.io/library/evil", ""},
	})
}

func TestImagesDeniedTags(t *testing.T) {
	const rule = "{deniedTags: [latest, dev-*]}"
	testImages(t, "images.deniedTags", []imageCase{
		{rule, "nginx:latest", `"nginx:latest" has the tag latest, and that is denied`},
		{rule, "nginx", `"nginx" has neither tag nor digest, which means latest, and that is denied`},
		{rule, "nginx@" + digest256, ""},
		{rule, "nginx:latest@" + digest256, `"nginx:latest@` + digest256 + `" has the tag latest, and that is denied`},
		{rule, "nginx:dev-3", `"nginx:dev-3" has the tag dev-3, and that is denied by dev-*`},
		{rule, "nginx:Latest", ""},
		{rule, "reg.example:5000/latest:1", ""},
		{"{deniedTags: ['*']}", "nginx@" + digest256, ""},
		{"{deniedTags: ['*']}", "nginx", `"nginx" has neither tag nor digest, which means latest, and that is denied by *`},
		{rule, "nginx:", ""},
	})
}

func TestImagesDigest(t *testing.T) {
	const rule = "{digest: required}"
	testImages(t, "images.digest", []imageCase{
		{rule, "nginx@" + digest256, ""},
		{rule, "nginx:1@" + digest512, ""},
		{rule, "nginx:1", `"nginx:1" has no digest; write nginx:1@sha256:<digest>`},
		{rule, "nginx@sha256:12", `"nginx@sha256:12" is not an image reference (invalid reference format), so it has no digest`},
		{rule, strings.Repeat("<", 2000), `"` + strings.Repeat("<", 256) + `"… is not an image reference (it has 2000 bytes, and no image reference has more than 1024), so it has no digest`},
	})
}

// What a Pod costs must not depend on how long a list is.
func BenchmarkJudgePod(b *testing.B) {
	pod := imagePod("registry-0.example/a/b:1", "docker.io/library/nginx:1.25@"+digest256, "ghcr.io/other/app:1", "eu.gcr.io/a/b/c")
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint("allowed=", n), func(b *testing.B) {
			list := "ghcr.io, docker.io, eu.gcr.io/a, registry-0.example"
			for i := range n - 4 {
				list += fmt.Sprintf(", registry-%d.example/team", i+1)
			}
			p := podsRule(b, "{allowed: ["+list+"], deniedTags: [latest]}")
			b.ReportAllocs()
			for b.Loop() {
				p.JudgePod(createPod, pod, nil)
			}
		})
	}
}
