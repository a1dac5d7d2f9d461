package policy

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	grammar "github.com/distribution/reference"
	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/object"
)

const hubText = `
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}
- {name: quay, mode: warn, sources: [quay.io], mirror: m.example/quay}
`

// outcomes returns the outcome of each image, one per line.
func outcomes(rw Rewriting) []string {
	var lines []string
	for _, out := range rw.Images {
		line := out.Image.Path() + " " + out.Outcome.String()
		if out.To != "" {
			line += ": " + out.To
		}
		lines = append(lines, line)
	}
	return lines
}

// everywhere is a Pod with an image in every field that can contain one.
func everywhere() *object.Pod {
	return &object.Pod{Images: []object.Image{
		{Place: object.Containers, Index: 0, Name: "app", Ref: "nginx:1", PullPolicy: ""},
		{Place: object.Containers, Index: 1, Name: "side", Ref: "quay.io/x/y", PullPolicy: ""},
		{Place: object.InitContainers, Index: 0, Name: "init", Ref: "busybox", PullPolicy: ""},
		{Place: object.EphemeralContainers, Index: 0, Name: "debug", Ref: "alpine", PullPolicy: ""},
		{Place: object.Volumes, Index: 2, Name: "data", Ref: "acme/model:7", PullPolicy: ""},
	}}
}

func TestRewriteEveryPlace(t *testing.T) {
	rw := must(mustLoad(t, hubText).RewritePod(createPod, everywhere(), nil, nil))
	want := []string{
		"spec.containers[0].image rewritten: m.example/hub/library/nginx:1",
		"spec.containers[1].image would be rewritten: m.example/quay/x/y",
		"spec.initContainers[0].image rewritten: m.example/hub/library/busybox",
		"spec.ephemeralContainers[0].image rewritten: m.example/hub/library/alpine",
		"spec.volumes[2].image.reference rewritten: m.example/hub/acme/model:7",
	}
	equal(t, want, outcomes(rw))
	const record = `{"containers/app":"nginx:1","ephemeralContainers/debug":"alpine","initContainers/init":"busybox",` +
		`"volumes/data":"acme/model:7"}`
	if rw.Record != record || !rw.Changes() {
		t.Errorf("record %s, changes %t", rw.Record, rw.Changes())
	}
}

// Only images that an update changes are rewritten. Reordering a list does not change any image.
func TestRewriteUpdate(t *testing.T) {
	p := mustLoad(t, hubText)
	update := object.Attributes{Operation: object.Update, Namespace: "default", Resource: "pods"}
	old := everywhere()
	pod := &object.Pod{Images: []object.Image{
		{Place: object.Containers, Index: 0, Name: "side", Ref: "quay.io/x/y", PullPolicy: ""},
		{Place: object.Containers, Index: 1, Name: "app", Ref: "nginx:2", PullPolicy: ""},
		{Place: object.Containers, Index: 2, Name: "init", Ref: "busybox", PullPolicy: ""}, // moved from initContainers
		{Place: object.InitContainers, Index: 0, Name: "new", Ref: "busybox", PullPolicy: ""},
		{Place: object.EphemeralContainers, Index: 0, Name: "debug", Ref: "alpine", PullPolicy: ""},
		{Place: object.EphemeralContainers, Index: 1, Name: "debug2", Ref: "alpine", PullPolicy: ""},
		{Place: object.Volumes, Index: 0, Name: "data", Ref: "acme/model:7", PullPolicy: ""},
		{Place: object.Volumes, Index: 1, Name: "bad", Ref: "acme/model:", PullPolicy: ""},
	}}
	want := []string{
		"spec.containers[0].image unchanged",
		"spec.containers[1].image rewritten: m.example/hub/library/nginx:2",
		"spec.containers[2].image rewritten: m.example/hub/library/busybox",
		"spec.initContainers[0].image rewritten: m.example/hub/library/busybox",
		"spec.ephemeralContainers[0].image unchanged",
		"spec.ephemeralContainers[1].image rewritten: m.example/hub/library/alpine",
		"spec.volumes[0].image.reference unchanged",
		"spec.volumes[1].image.reference malformed",
	}
	equal(t, want, outcomes(must(p.RewritePod(update, pod, old, nil))))
	rw := must(p.RewritePod(update, everywhere(), old, nil))
	if rw.Changes() || rw.Record != "" {
		t.Errorf("an update that changes no image: %v, record %q", outcomes(rw), rw.Record)
	}
	if why := rw.Images[0].Why(); why != "unchanged by this update" {
		t.Error(why)
	}
}

func TestRewriteImmutableImages(t *testing.T) {
	p := mustLoad(t, hubText)
	resize, ephemeral := createPod, createPod
	resize.Subresource, ephemeral.Subresource = "resize", "ephemeralcontainers"
	for _, test := range []struct {
		a    object.Attributes
		pod  *object.Pod
		want Outcome
	}{
		{resize, imagePod("nginx"), Ignored},
		{ephemeral, imagePod("nginx"), Rewritten},
	} {
		out := must(p.RewritePod(test.a, test.pod, nil, nil)).Images[0]
		if out.Outcome != test.want {
			t.Errorf("got %s, want %s", out.Outcome, test.want)
		}
		const why = "not evaluated: the request cannot change it"
		if out.Outcome == Ignored && out.Why() != why {
			t.Error(out.Why())
		}
	}
}

// An empty policy does not rewrite anything.
func TestRewriteEmptyPolicy(t *testing.T) {
	p := must(Load())
	rw := must(p.RewritePod(createPod, everywhere(), nil, nil))
	if rw.Changes() || rw.Record != "" || len(rw.Images) != 5 || rw.Images[0].Why() != "no source covers docker.io/library/nginx" {
		t.Errorf("%+v", rw)
	}
}

func TestRecord(t *testing.T) {
	const at, sidecar = "m.example/hub/library/nginx:1", "busybox"
	for _, test := range []struct{ name, earlier, want string }{
		{"none", "", `{"containers/b":"busybox"}`},
		{"of an earlier round", `{"containers/a":"nginx:1"}`, `{"containers/a":"nginx:1","containers/b":"busybox"}`},
		{"of another image", `{"containers/a":"nginx:2"}`, `{"containers/b":"busybox"}`},
		{"of another place", `{"initContainers/a":"nginx:1"}`, `{"containers/b":"busybox"}`},
		{"that is believed by nobody", `{"containers/b":"evil.example/x"}`, `{"containers/b":"busybox"}`},
		{"with more", `{"containers/a":"docker.io/nginx:1","x":"y"}`, `{"containers/a":"docker.io/nginx:1","containers/b":"busybox"}`},
		{"malformed", `{"containers/a":"nginx:1"`, `{"containers/b":"busybox"}`},
		{"of other types", `{"containers/a":["nginx:1"]}`, `{"containers/b":"busybox"}`},
		{"malformed image", `{"containers/a":"NGINX"}`, `{"containers/b":"busybox"}`},
		{"too long", `{"containers/a":"nginx:1","x":"` + strings.Repeat("y", 16<<10) + `"}`, `{"containers/b":"busybox"}`},
	} {
		pod := imagePod(at, sidecar)
		if test.earlier != "" {
			pod.Annotations = map[string]string{object.OriginalsAnnotation: test.earlier}
		}
		if got := must(mustLoad(t, hubText).RewritePod(createPod, pod, nil, nil)).Record; got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

// The API server rejects an object whose annotations are too large, so the record must not exceed that limit.
func TestRecordHasNoRoom(t *testing.T) {
	p := mustLoad(t, hubText)
	record := len(`{"containers/a":"nginx"}`)
	for room, want := range map[int]bool{record: true, record - 1: false} {
		pod := imagePod("nginx")
		pod.Annotations = map[string]string{
			"k":                        strings.Repeat("v", 256<<10-len(object.OriginalsAnnotation)-len("k")-room),
			object.OriginalsAnnotation: "this one is replaced",
		}
		if rw := must(p.RewritePod(createPod, pod, nil, nil)); !rw.Changes() || (rw.Record != "") != want {
			t.Errorf("room for %d bytes: record %q", room, rw.Record)
		}
	}
	pod := imagePod()
	for i := range 16 << 10 / 10 {
		pod.Images = append(pod.Images, object.Image{Place: object.Containers, Index: i, Name: fmt.Sprint(i), Ref: "nginx", PullPolicy: ""})
	}
	if rw := must(p.RewritePod(createPod, pod, nil, nil)); !rw.Changes() || rw.Record != "" {
		t.Errorf("a record of %d bytes", len(rw.Record))
	}
}

// A name is not copied into a record that has no room for it.
func TestLongNameIsNotRecorded(t *testing.T) {
	p := mustLoad(t, hubText)
	for _, ref := range []string{"nginx", "not.rewritten.example/x"} {
		pod := &object.Pod{Images: []object.Image{{Place: object.Containers, Index: 0, Name: strings.Repeat("\n", 1<<20), Ref: ref, PullPolicy: ""}, {Place: object.Containers, Index: 1, Name: "a", Ref: "nginx", PullPolicy: ""}}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rw := must(p.RewritePod(createPod, pod, nil, nil))
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; !rw.Changes() || rw.Record != "" || n > 16<<10 {
			t.Errorf("%s: a record of %d bytes, for which %d were allocated", ref, len(rw.Record), n)
		}
	}
}

// fuzzText covers sources of every kind.
const fuzzText = `
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/docker.io}
- {name: team, mode: enforce, sources: [docker.io/team], mirror: "m.example:5000/team"}
- {name: wild, mode: enforce, sources: ["*.gcr.io", "**.pkg.dev"], mirror: "m.example/{registry}"}
- {name: port, mode: enforce, sources: ["reg.example:5000"], mirror: n.example}
- {name: one, mode: enforce, sources: [quay.io/one], mirror: o.example/one/deep}
- {name: written, mode: enforce, sources: ["reg:5000", "[2001:db8::1]", "foo:443"], mirror: "w.example:443/x"}
`

// fuzzTargets returns for each entry of fuzzText the mirror of a name, from the parser's domain and path.
var fuzzTargets = map[string]func(domain, path string) string{
	"hub":     func(_, path string) string { return "m.example/docker.io/" + path },
	"team":    func(_, path string) string { return "m.example:5000/" + path },
	"wild":    func(domain, path string) string { return "m.example/" + domain + "/" + path },
	"port":    func(_, path string) string { return "n.example/" + path },
	"one":     func(_, path string) string { return "o.example/one/deep" + strings.TrimPrefix(path, "one") },
	"written": func(_, path string) string { return "w.example:443/x/" + path },
}

// The usual parser reads every rewritten image as the place that the policy defines, with the same tag and the same
// digest. The image is not rewritten again.
func FuzzRewrite(f *testing.F) {
	for _, seed := range []string{
		"nginx", "nginx:1.25", "team/x@" + digest256, "eu.gcr.io/a/b:1@" + digest256, "a.b.pkg.dev/x", "reg.example:5000/x",
		"quay.io/one:2", "INDEX.docker.io/x", "docker.io/team", "m.example/docker.io/x", "", "a b", "localhost:5000", "[::1]:5000/x",
		"x/" + strings.Repeat("y/", 120) + "z", "nginx@" + digest512, "Foo/bar", "docker.io/docker.io/docker.io", "n.example:1",
		"docker.io:443/x", "reg:005000/x:1", "[2001:DB8::0:1]:0443/x", "Foo/x@" + digest256, "foo:0443/x", "[2001:db8::1]/x", "sha256:12ab", "eu.gcr.io:443/x",
	} {
		f.Add(seed)
	}
	p := mustLoad(f, fuzzText)
	f.Fuzz(func(t *testing.T, image string) {
		out := rewriteOne(p, image)
		if (out.Outcome == Rewritten) != (out.To != "") {
			t.Fatalf("%q: %+v", image, out)
		}
		if out.Outcome != Rewritten {
			return
		}
		before, err := match.ParseReference(image, "")
		if err != nil {
			t.Fatalf("%q does not parse and is rewritten to %s: %v", image, out.To, err)
		}
		after, err := grammar.ParseNormalizedNamed(out.To)
		if err != nil || after.String() != out.To {
			t.Fatalf("%q is rewritten to %s, which is read as %v, %v", image, out.To, after, err)
		}
		if got, want := strings.TrimPrefix(after.String(), after.Name()), before.Suffix; got != want {
			t.Errorf("%q: %s became %s", image, want, got)
		}
		domain, path, _ := strings.Cut(before.Name, "/")
		if want := fuzzTargets[out.Entry](domain, path); after.Name() != want {
			t.Errorf("%q is rewritten to %s, want %s", image, after.Name(), want)
		}
		if again := rewriteOne(p, out.To); again.Outcome != AtMirror {
			t.Errorf("%q is rewritten to %s, and this is %s %s", image, out.To, again.Outcome, again.To)
		}
	})
}

// randomWords draws names from a small set of segments, so sources, mirrors and images often collide.
type randomWords struct{ *rand.Rand }

func newRandomWords(a, b uint64) randomWords { return randomWords{rand.New(rand.NewPCG(a, b))} }

func (r randomWords) pick(words ...string) string { return words[r.IntN(len(words))] }

func (r randomWords) place() string {
	s := r.pick("docker.io", "gcr.io", "eu.gcr.io", "a.eu.gcr.io", "m.example", "n.example:5000", "localhost", "gcr.io:443", "reg:443", "[::1]:443")
	for range r.IntN(4) {
		s += "/" + r.pick("a", "b", "library", "eu.gcr.io", "gcr.io", "docker.io")
	}
	return s
}

func (r randomWords) entry(i int) string {
	quoted := func(s string) string { return "'" + s + "'" }
	source, mirror := quoted(r.place()), r.place()
	if r.IntN(4) == 0 {
		source, mirror = r.pick("'*.gcr.io'", "'**.gcr.io'", "'*.example'", "'**.io'"), mirror+"/{registry}"
	}
	if r.IntN(4) == 0 {
		source += ", " + quoted(r.place())
	}
	var more []string
	if r.IntN(3) == 0 {
		more = append(more, "exclude: {images: ["+quoted(r.place())+", "+quoted(r.place())+"]}")
	}
	if r.IntN(3) == 0 {
		more = append(more, "match: {namespaces: ["+r.pick("default", "def*", "other")+"]}")
	}
	return mirrorText(fmt.Sprint("e", i), source, quoted(mirror), more...)
}

// For any policy that loads, a rewritten image is not rewritten again. Two different images that do not share an entry
// never have the same mirror.
func TestRewriteProperties(t *testing.T) {
	r := newRandomWords(1, 2)
	loaded, rewritten := 0, 0
	for range 2_500 {
		text := "mirrors:\n"
		for i := range 1 + r.IntN(4) {
			text += r.entry(i)
		}
		p, err := Load(policyFile("p", text))
		if err != nil {
			continue
		}
		loaded++
		landed := map[string]ImageOutcome{}
		for range 20 {
			image := r.place() + "/" + r.pick("a", "b", "x", "x:1")
			out := rewriteOne(p, image)
			if out.Outcome != Rewritten {
				continue
			}
			rewritten++
			if again := rewriteOne(p, out.To); again.Outcome != AtMirror {
				t.Fatalf("%s → %s → %s %s\n%s", image, out.To, again.Outcome, again.To, text)
			}
			if other, ok := landed[out.To]; ok && other.Entry != out.Entry && !sameImage(image, other.Image.Ref) {
				t.Fatalf("%s and %s both land on %s\n%s", image, other.Image.Ref, out.To, text)
			}
			landed[out.To] = out
		}
	}
	t.Logf("%d policies, %d images", loaded, rewritten)
	if loaded < 300 || rewritten < 300 {
		t.Errorf("only %d policies loaded and %d images were rewritten: this proves little", loaded, rewritten)
	}
}

func sameImage(a, b string) bool {
	x, errX := match.ParseReference(a, "")
	y, errY := match.ParseReference(b, "")
	return errX == nil && errY == nil && x.String() == y.String()
}

// manyMirrors is a policy of n entries, each with a separate source and namespace. The policy covers images of
// docker.io and of registry-0.example.
func manyMirrors(n int) string {
	var b strings.Builder
	b.WriteString("mirrors:\n- {name: wild, mode: enforce, sources: ['*.gcr.io'], mirror: 'm.example/{registry}'}\n")
	for i := range n - 1 {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, "- {name: e%d, mode: enforce, sources: [registry-%[1]d.example], mirror: m.example/r/%[1]d}\n", i)
		case 1:
			fmt.Fprintf(&b, "- {name: e%d, mode: enforce, sources: [ghcr.io/team-%[1]d], mirror: m.example/g/%[1]d}\n", i)
		case 2:
			fmt.Fprintf(&b, "- {name: e%d, mode: enforce, sources: [docker.io], mirror: m.example/h/%[1]d, "+
				"match: {namespaces: [team-%[1]d-*]}}\n", i)
		}
	}
	return b.String()
}

// The cost of an image must not depend on the number of mirrors.
func BenchmarkRewritePod(b *testing.B) {
	pod := imagePod("registry-0.example/a/b:1", "docker.io/library/nginx:1.25@"+digest256, "ghcr.io/other/app:1", "eu.gcr.io/a/b/c")
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint("mirrors=", n), func(b *testing.B) {
			p := mustLoad(b, manyMirrors(n))
			a := object.Attributes{Operation: object.Create, Namespace: "team-2-blue"}
			if rw := must(p.RewritePod(a, pod, nil, nil)); rw.Images[0].Outcome != Rewritten || rw.Images[1].Outcome != Rewritten {
				b.Fatal(outcomes(rw))
			}
			b.ReportAllocs()
			for b.Loop() {
				must(p.RewritePod(a, pod, nil, nil))
			}
		})
	}
}

// If entries share a mirror, images at the mirror belong to the first entry.
func TestSharedMirror(t *testing.T) {
	p := mustLoad(t, `
mirrors:
- {name: blue, sources: [docker.io], mirror: mirror.example/hub, mode: enforce, match: {namespaces: [blue]}}
- {name: green, sources: [docker.io], mirror: mirror.example/hub, mode: warn, match: {namespaces: [green]}}
`)
	out := rewriteOne(p, "mirror.example/hub/library/nginx")
	if out.Outcome != AtMirror || out.Entry != "blue" || out.Mode != Enforce {
		t.Errorf("%s by %s, %s; want at a mirror by blue", out.Outcome, out.Entry, out.Mode)
	}
}

func TestRecorded(t *testing.T) {
	by := mustLoad(t, "mirrors: [{name: hub, mode: audit, sources: [docker.io], mirror: m.example}]")
	pod := &object.Pod{
		Meta: object.Meta{Annotations: map[string]string{
			"a": "b", object.OriginalsAnnotation: `{"containers/app":"nginx","volumes/v":"x/y:1","containers/gone":"y",` +
				`"containers/b":"nginx:1","containers/c":"x/z:1"}`,
		}},
		Images: []object.Image{
			{Place: object.Containers, Name: "app", Ref: "m.example/library/nginx"},
			{Place: object.InitContainers, Name: "app", Ref: "busybox"},
			{Place: object.Volumes, Name: "v", Ref: "m.example/x/y:1"},
			{Place: object.Containers, Name: "b", Ref: "m.example/library/nginx:2"}, // changed later
			{Place: object.Containers, Name: "c", Ref: "else.example/x/z:1"},        // of another mirror
		},
	}
	want := &object.Pod{
		Meta: object.Meta{Annotations: map[string]string{"a": "b"}},
		Images: []object.Image{
			{Place: object.Containers, Name: "app", Ref: "nginx"}, {Place: object.InitContainers, Name: "app", Ref: "busybox"},
			{Place: object.Volumes, Name: "v", Ref: "x/y:1"}, {Place: object.Containers, Name: "b", Ref: "m.example/library/nginx:2"},
			{Place: object.Containers, Name: "c", Ref: "else.example/x/z:1"},
		},
	}
	got, stale := Recorded(pod, createPod, by)
	if diff := cmp.Diff(want, got); diff != "" || stale != 3 || !pod.HasRecord() || want.HasRecord() {
		t.Error(diff, stale)
	}
	if got, stale := Recorded(pod, createPod, mustLoad(t, "")); stale != 5 || got.Images[0].Ref != pod.Images[0].Ref {
		t.Errorf("by a policy without mirrors: %d stale entries, %v", stale, got.Images)
	}
	if pod.Images[0].Ref != "m.example/library/nginx" || len(pod.Annotations) != 2 {
		t.Errorf("the Pod itself has changed: %+v", pod)
	}
	for _, record := range []string{"", "[]", "{}", "null", `{"containers/app":5}`, "{" + strings.Repeat(" ", 16<<10) + "}"} {
		pod := &object.Pod{Meta: object.Meta{Annotations: map[string]string{object.OriginalsAnnotation: record}}, Images: pod.Images}
		got, _ := Recorded(pod, createPod, by)
		if diff := cmp.Diff(pod, got); diff != "" {
			t.Errorf("%.20q: %s", record, diff)
		}
	}
}
