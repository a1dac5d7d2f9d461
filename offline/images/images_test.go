package images

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

const digest = "@sha256:0123456789012345678901234567890123456789012345678901234567890123"

// list returns the images of Pods, each with one image, under a policy.
func list(t *testing.T, images ...string) *List {
	t.Helper()
	p, err := policy.Load(policy.File{Name: "policy.yaml", Data: []byte(`apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub, exclude: {images: [docker.io/library/kept]}}
- {name: k8s, mode: audit, sources: [registry.k8s.io, k8s.gcr.io], mirror: m.example/k8s}
- {name: six, mode: warn, sources: ["[2001:db8::1]:5000"], mirror: "[2001:db8::2]:5000/x"}
- {name: short, mode: enforce, sources: [docker.io/plain], qualify: true}
pods:
- {name: safe, mode: enforce, images: {denied: [docker.io/evil], deniedTags: [old]}}
- {name: moved, mode: enforce, images: {denied: [m.example/hub/bad]}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	var pods strings.Builder
	for i, image := range images {
		quoted, _ := json.Marshal(image)
		fmt.Fprintf(&pods, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p%d"}, "spec": {"containers": [`+
			`{"name": "c", "image": %s}]}}`+"\n", i, quoted)
	}
	return New(offline.Options{Policy: p}, offline.ReadText("pods.json", strings.NewReader(pods.String())))
}

func written(t *testing.T, l *List, format string, limit int) string {
	t.Helper()
	var b bytes.Buffer
	if err := l.Write(&b, format, limit); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRows(t *testing.T) {
	const hub = "m.example/hub/library/"
	for image, want := range map[string]Row{
		"nginx:1":                    {"docker.io/library/nginx:1", hub + "nginx:1", "hub", "pulled from ", ""},
		"INDEX.docker.io/x" + digest: {"docker.io/library/x" + digest, hub + "x" + digest, "hub", "pulled from ", ""},
		"k8s.gcr.io/pause":           {"k8s.gcr.io/pause", "m.example/k8s/pause", "k8s", "would be pulled from ", ""},
		"plain/app":                  {"docker.io/plain/app", "", "short", "pulled from ", ""},
		"quay.io/x":                  {"quay.io/x", "", "", "no source covers quay.io/x", ""},
		"m.example/hub/x":            {"m.example/hub/x", "", "hub", "already at mirror hub", ""},
		"kept:1":                     {"docker.io/library/kept:1", "", "hub", "excluded by mirrors entry hub: ", ""},
		"a b\x1b[31m":                {`"a b\x1b[31m"`, "", "", "denied by safe/images.denied: ", "problem"},
		strings.Repeat("x", 9999):    {`"` + strings.Repeat("x", 60) + `"…`, "", "", "denied by safe/images.d", "problem"},
		"evil/app":                   {"docker.io/evil/app", "", "hub", "denied by safe/images.denied: ", "problem"},
		"bad/app":                    {"docker.io/bad/app", "", "hub", "denied by moved/images.denied: ", "problem"},
		"app:old":                    {"docker.io/library/app:old", "", "hub", "denied by safe/images.d", "problem"},
	} {
		l := list(t, image, image)
		if len(l.Rows) != 1 || len(l.Errors) > 0 {
			t.Errorf("%.20s: %v, %v", image, l.Rows, l.Errors)
			continue
		}
		got := l.Rows[0]
		if !strings.HasPrefix(got.Result, want.Result) || got.First != "Pod p0" {
			t.Errorf("%.20s: %q, %s", image, got.Result, got.First)
		}
		if problems := len(l.Problems) == 1; problems != (want.First == "problem") {
			t.Errorf("%.20s: %q", image, l.Problems)
		}
		got.Result, got.First, want.Result, want.First = "", "", "", ""
		if got != want {
			t.Errorf("%.20s: %+v, want %+v", image, got, want)
		}
	}
}

// The order and the objects of the input do not affect the list. Each target is copied once.
func TestPairs(t *testing.T) {
	images := []string{"quay.io/x", "nginx", "registry.k8s.io/pause:3", "docker.io/nginx", "k8s.gcr.io/pause:3", "evil/x"}
	const want = "docker.io/library/nginx\tm.example/hub/library/nginx\nk8s.gcr.io/pause:3\tm.example/k8s/pause:3\n"
	for range images {
		images = append(images[1:], images[0])
		if got := written(t, list(t, images...), "pairs", 1); got != want {
			t.Errorf("%v: %s", images, cmp.Diff(want, got))
		}
	}
}

// The formats of other programs have the fields that these programs read.
func TestFormats(t *testing.T) {
	images := []string{"nginx:1", "app:1" + digest, "[2001:db8::1]:5000/a"}
	const app = `library/app:1` + digest
	for format, want := range map[string]string{
		"regsync": `{version: 1, sync: [{source: "[2001:db8::1]:5000/a", target: "[2001:db8::2]:5000/x/a", type: image},` +
			`{source: "docker.io/` + app + `", target: "m.example/hub/` + app + `", type: image},` +
			`{source: "docker.io/library/nginx:1", target: "m.example/hub/library/nginx:1", type: image}]}`,
		"hauler": `{apiVersion: content.hauler.cattle.io/v1, kind: Images, metadata: {name: mirrors}, spec: {images: [` +
			`{name: "[2001:db8::1]:5000/a", rewrite: "[2001:db8::2]:5000/x/a"},` +
			`{name: "docker.io/library/nginx:1", rewrite: "m.example/hub/library/nginx:1"}]}}`,
	} {
		l := list(t, images...)
		var got, expected any
		if err := yaml.UnmarshalStrict([]byte(written(t, l, format, 1)), &got); err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict([]byte(want), &expected); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
		left := "Pod p1: docker.io/" + app + ": Hauler cannot rename an image with a digest"
		if slices.Contains(l.Problems, left) != (format == "hauler") {
			t.Errorf("%s: %q", format, l.Problems)
		}
		if empty := written(t, list(t, "quay.io/x"), format, 0); strings.Contains(empty, "example") {
			t.Errorf("%s without images: %s", format, empty)
		}
	}
}

func TestLimit(t *testing.T) {
	images := make([]string, 10_000)
	for i := range images {
		images[i] = fmt.Sprintf("app:%d", i)
	}
	l := list(t, images...)
	for limit, lines := range map[int]int{0: 10_001, -1: 10_001, 3: 5, 10_000: 10_001, 99_999: 10_001} {
		text := written(t, l, "text", limit)
		more := strings.HasSuffix(text, "\nand 9,997 more images: --limit 0 lists all\n")
		if n := strings.Count(text, "\n"); n != lines || more != (limit == 3) {
			t.Errorf("limit %d: %d lines: %s", limit, n, text[len(text)-50:])
		}
	}
	if got := strings.Count(written(t, l, "pairs", 3), "\n"); got != len(images) {
		t.Errorf("%d pairs", got)
	}
}
