package handlers

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rules also evaluate an image as it is written. A rule in mode enforce prevents rewriting, so the validating webhook
// denies the image. A rule in mode warn adds a warning to the rewriting. A rule in mode audit only adds an audit
// annotation.
func TestDeniedOriginals(t *testing.T) {
	f := newFixture(t, `
mirrors:
- {name: hub, sources: [docker.io], mirror: m.example/hub, mode: enforce}
pods:
- {name: evil, mode: enforce, images: {denied: [docker.io/evil]}}
- {name: tags, mode: enforce, images: {deniedTags: [dev]}, exclude: {images: [m.example]}}
- {name: told, mode: warn, message: ask us, images: {denied: [docker.io/told]}}
- {name: noted, mode: audit, images: {denied: [docker.io/noted]}}
`)
	s := startTLS(t, servingOf(f.Config))
	hash := f.Policies.Current().Hash()
	rewrittenTo := func(ref string) string {
		return `[{"op":"replace","path":"/spec/containers/0/image","value":"m.example/hub/` + ref + `"},` +
			`{"op":"add","path":"/metadata/annotations","value":{"evergate.dev/original-images":"{\"containers/app\":\"` +
			ref + `\"}"}}]`
	}
	for _, tt := range []struct {
		image, patch string
		denied       bool // by the validating webhook, after the patch
		warnings     []string
		findings     string
	}{
		{image: "evil/x", denied: true},
		{image: "Docker.IO:443/evil/x", denied: true},
		{image: "x/y:dev", denied: true},
		{image: "sha256:12ab", denied: true,
			warnings: []string{"[" + hash + `] spec.containers[0].image: "sha256:12ab" is not an image reference: ` +
				"a node may take it for the ID of any image on the node, or for the start of an ID: write a name"}},
		{
			image: "told/x", patch: rewrittenTo("told/x"), findings: "told/images.denied (warn)",
			warnings: []string{"[warn " + hash + `] told/images.denied: spec.containers[0].image: ` +
				`"told/x" is denied by docker.io/told, ` +
				"but not after it is rewritten to m.example/hub/told/x (ask us)"},
		},
		{image: "noted/x", patch: rewrittenTo("noted/x"), findings: "noted/images.denied (audit)"},
		{image: "fine/x", patch: rewrittenTo("fine/x")},
	} {
		for _, path := range []string{"/mutate/pods", "/mutate/pods/again"} {
			a := ask(t, s, path, reviewOf("", "pods", "CREATE", podOf(tt.image), ""))
			if !a.Allowed {
				t.Errorf("%s: %s denies", tt.image, path)
			}
			if diff := cmp.Diff(tt.patch, string(a.Patch)); diff != "" {
				t.Errorf("%s: %s: patch: %s", tt.image, path, diff)
			}
			if diff := cmp.Diff(tt.warnings, a.Warnings); diff != "" {
				t.Errorf("%s: %s: warnings: %s", tt.image, path, diff)
			}
			if got := a.AuditAnnotations["findings"]; got != tt.findings {
				t.Errorf("%s: %s: audit annotation %q, want %q", tt.image, path, got, tt.findings)
			}
		}
		pulled := tt.image
		if tt.patch != "" {
			pulled = "m.example/hub/" + tt.image
		}
		if a := ask(t, s, "/validate/pods", reviewOf("", "pods", "CREATE", podOf(pulled), "")); a.Allowed == tt.denied {
			t.Errorf("%s: allowed %t", pulled, a.Allowed)
		}
	}
	if counted := f.series(t, "evergate_images_total"); counted["entry=hub outcome=denied"] == 0 {
		t.Errorf("no image is counted as denied: %v", counted)
	}
}

// ask sends a review and returns its response.
func ask(t *testing.T, s *httptest.Server, path, body string) wireResponse {
	t.Helper()
	got := send(t, s.Client(), post(t.Context(), t, s.URL+path+"?timeout=3s", body))
	var a wire
	if err := json.Unmarshal([]byte(got.body), &a); err != nil || got.status != 200 {
		t.Fatalf("answered %d %s (%v)", got.status, got.body, err)
	}
	return a.Response
}
