package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// imageID is the start of the sentence about the ID of an image.
const imageID = "is not an image reference (a node may take it for the ID of any image on the node, or for the start of an ID: write a name), so it "

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
		{rule, "M.example:443/hub/x", ""},
		{rule, "m.example:0443/hub/x", `"m.example:0443/hub/x" is not an image reference (it has the port 0443, and ports are 1 to 65535, without leading zeros), so it is not pulled from a mirror`},
		{rule, "quay.io:443/x:1", `"quay.io:443/x:1" is not pulled from a mirror; write m.example/quay/x:1`},
		{rule, digest256, `"` + digest256 + `" ` + imageID + "is not pulled from a mirror"},
		{more, "ghcr.io:443/acme/x", ""},
		{more, "REG.example:5000/x", ""},
		{more, "ghcr.io/acme/x", ""},
		{more, "gcr.io/x:1", ""},
		{more, "gcr.io/x:2", `"gcr.io/x:2" is not pulled from a mirror; allowed are m.example/hub, m.example/quay, ghcr.io/acme, reg.example:5000/*, gcr.io/x:1`},
	})
}

// An image that the covering entry excludes is exempt.
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
		if got := len(must(Pods.Evaluate(p, object.Attributes{Operation: object.Create, Namespace: test.namespace}, pod, nil, nil))); got != test.findings {
			t.Errorf("%+v: got %d", test, got)
		}
	}
}

func TestImagesFromWithoutMirrors(t *testing.T) {
	p := mustLoad(t, "pods:\n- {name: r, mode: enforce, images: {from: mirrors}}\n")
	const want = `r/images.from: spec.containers[0].image: "nginx" is not pulled from a mirror, and the policy has no active mirrors`
	if f := must(Pods.Evaluate(p, createPod, imagePod("nginx"), nil, nil)); len(f) != 1 || f[0].String() != want {
		t.Error(f)
	}
}

// An image that is written for another host of Docker Hub is not rewritten. The denial contains the image that would be
// rewritten if the mirror of docker.io has every image of that host.
func TestImagesFromOtherHostsOfDockerHub(t *testing.T) {
	const rule = "pods:\n- {name: r, mode: enforce, images: {from: mirrors}}\n"
	const hub = "mirrors:\n- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}\n" + rule
	const no, none = " is not pulled from a mirror", " is not pulled from a mirror; allowed are m.example/hub"
	for name, test := range map[string]struct{ policy, image, want string }{
		"registry-1":      {hub, "registry-1.docker.io/acme/app:1", no + "; write docker.io/acme/app:1, which mirrors entry hub covers"},
		"the hub":         {hub, "Registry.Hub.Docker.com:443/library/nginx", no + "; write docker.io/library/nginx, which mirrors entry hub covers"},
		"an official one": {hub, "registry-1.docker.io/nginx:1@" + digest256, no + "; write docker.io/library/nginx:1@" + digest256 + ", which mirrors entry hub covers"},
		"the index is docker.io to every runtime": {hub, "index.docker.io/acme/app:1", no + "; write m.example/hub/acme/app:1"},
		"another registry":                        {hub, "quay.io/acme/app:1", none},
		"another port":                            {hub, "registry-1.docker.io:5000/acme/app:1", none},
		"denied":                                  {hub + "- {name: evil, mode: enforce, images: {denied: [docker.io/acme]}}\n", "registry-1.docker.io/acme/app:1", none},
		"an entry in mode warn":                   {strings.Replace(hub, "enforce", "warn", 1), "registry-1.docker.io/acme/app:1", none},
		"an entry with a match":                   {strings.Replace(hub, "sources", "match: {namespaces: [other]}, sources", 1), "registry-1.docker.io/acme/app:1", none},
		"a source that is a part":                 {strings.Replace(hub, "[docker.io]", "[docker.io/library]", 1), "registry-1.docker.io/library/nginx", none},
	} {
		t.Run(name, func(t *testing.T) {
			found := must(Pods.Evaluate(mustLoad(t, test.policy), createPod, imagePod(test.image), nil, nil))
			want := "r/images.from: spec.containers[0].image: \"" + test.image + `"` + test.want
			if len(found) == 0 || found[0].String() != want {
				t.Errorf("got  %v\nwant %s", sentences(found), want)
			}
		})
	}
	// An image written like that passes after it is rewritten, but with the pull policy Never it would not be rewritten.
	p := mustLoad(t, hub)
	rw := must(p.RewritePod(createPod, imagePod("docker.io/acme/app:1"), nil, nil))
	if rw.Images[0].To != "m.example/hub/acme/app:1" {
		t.Error(rw.Images)
	}
	never := imagePod("registry-1.docker.io/acme/app:1")
	never.Images[0].PullPolicy = object.PullNever
	want := `r/images.from: spec.containers[0].image: "registry-1.docker.io/acme/app:1"` + none
	if found := must(Pods.Evaluate(p, createPod, never, nil, nil)); len(found) != 1 || found[0].String() != want {
		t.Error(sentences(found))
	}
	// Images of such a host are not patched.
	rw = must(p.RewritePod(createPod, imagePod("registry-1.docker.io/acme/app:1"), nil, nil))
	if rw.Changes() || rw.Images[0].Outcome != NoMirror {
		t.Error(rw.Images)
	}
}

func TestImagesAllowed(t *testing.T) {
	const rule = "{allowed: [docker.io/library, ghcr.io/acme/*]}"
	testImages(t, "images.allowed", []imageCase{
		{rule, "nginx:1", ""},
		{rule, "ghcr.io/acme/x", ""},
		{rule, "ghcr.io:443/acme/x", ""},
		{rule, "sha256:0123", `"sha256:0123" ` + imageID + "is not allowed"},
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
	const v6 = "{denied: ['[2001:db8::1]:5000', 192.0.2.1, 'reg:5000']}"
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
		{rule, "Nginx", `"Nginx" is not an image reference (invalid reference format: repository name (library/Nginx) must be lowercase), so it counts as denied`},
		{rule, "QUAY.IO:443/evil:2", `"QUAY.IO:443/evil:2" is denied by quay.io/evil`},
		{rule, "quay.io:0443/evil/x", `"quay.io:0443/evil/x" is not an image reference (it has the port 0443, and ports are 1 to 65535, without leading zeros), so it counts as denied`},
		{rule, "quay.io:" + strings.Repeat("0", 1100) + "443/evil/x:latest", `"quay.io:` + strings.Repeat("0", 248) +
			`"… is not an image reference (it has 1125 bytes, and no image reference has more than 1024), so it counts as denied`},
		{rule, "", `"" is not an image reference (it is empty), so it counts as denied`},
		{rule, "sha256:12ab", `"sha256:12ab" ` + imageID + "counts as denied"},
		{v6, "[2001:db8::1]:5000/x", `"[2001:db8::1]:5000/x" is denied by [2001:db8::1]:5000`},
		{v6, "[2001:DB8::1]:5000/x:1", `"[2001:DB8::1]:5000/x:1" is denied by [2001:db8::1]:5000`},
		{v6, "[2001:db8::1]:5001/x", ""},
		{v6, "192.0.2.1:443/x", `"192.0.2.1:443/x" is denied by 192.0.2.1`},
		{v6, "192.0.513/x", `"192.0.513/x" is not an image reference (it has the host 192.0.513, and addresses are written like 192.0.2.1 or [2001:db8::1]), so it counts as denied`},
		{v6, "reg:5000/x", `"reg:5000/x" is denied by reg:5000`},
		{v6, "REG:5000/x", `"REG:5000/x" is denied by reg:5000`},
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
		{rule, "nginx:", `"nginx:" is not an image reference (invalid reference format), so it counts as having a denied tag`},
		{rule, "sha256:12ab", `"sha256:12ab" ` + imageID + "counts as having a denied tag"},
		{"{deniedTags: [dev-*]}", "nginx", ""},
		{"{deniedTags: [dev-*]}", "nginx:", `"nginx:" is not an image reference (invalid reference format), so it counts as having a denied tag`},
		{rule, "quay.io:" + strings.Repeat("0", 1100) + "443/a/b:latest", `"quay.io:` + strings.Repeat("0", 248) +
			`"… is not an image reference (it has 1122 bytes, and no image reference has more than 1024), so it counts as having a denied tag`},
	})
}

func TestImagesDigest(t *testing.T) {
	const rule = "{digest: required}"
	testImages(t, "images.digest", []imageCase{
		{rule, "nginx@" + digest256, ""},
		{rule, "nginx:1@" + digest512, ""},
		{rule, digest256, `"` + digest256 + `" ` + imageID + "has no digest"},
		{rule, "nginx:1", `"nginx:1" has no digest; write nginx:1@sha256:<digest>`},
		{rule, "nginx@sha256:12", `"nginx@sha256:12" is not an image reference (invalid reference format), so it has no digest`},
		{rule, strings.Repeat("<", 2000), `"` + strings.Repeat("<", 256) + `"… is not an image reference (it has 2000 bytes, and no image reference has more than 1024), so it has no digest`},
	})
}

// The cost of a Pod must not depend on the length of a list.
func BenchmarkEvaluatePod(b *testing.B) {
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
				must(Pods.Evaluate(p, createPod, pod, nil, nil))
			}
		})
	}
}
