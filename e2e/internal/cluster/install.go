package cluster

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Product describes an installation.
type Product struct {
	// fail-open (default) or fail-closed: a directory in kustomize/overlays; a path is relative to Source
	Overlay    string
	Components []string // directories of kustomize/components
	Tag        string   // of the image; default: e2e, which make e2e-up has built from the working tree and loaded
	Source     string   // the root of the repository whose kustomize/ is applied; default: this repository
	Patches    []string // additional kustomize patches, in YAML, as entries of the field "patches"
}

// Namespace is the namespace in every overlay.
const Namespace = "evergate-system"

// Install applies an overlay as users do, with kubectl apply -k, and returns when the rollout has ended. If the overlay
// is already installed, only differences change. It does not change the user's policy, and does not install one.
func (c *Cluster) Install(t testing.TB, p Product) {
	t.Helper()
	c.Apply(t, p)
	c.AwaitRollout(t)
	if c.isStale(t, p) {
		c.Kubectl(t, "", "-n", Namespace, "rollout", "restart", "deployment/evergate")
		c.AwaitRollout(t)
	}
}

// AwaitRollout returns when every replica of the product has the newest revision and is available.
func (c *Cluster) AwaitRollout(t testing.TB) {
	t.Helper()
	c.Kubectl(t, "", "-n", Namespace, "rollout", "status", "deployment/evergate", "--timeout=5m")
}

// isStale reports whether a Pod runs an older image than the current image with its name, because the image was built
// again.
func (c *Cluster) isStale(t testing.TB, p Product) bool {
	t.Helper()
	_, tag := image(p.Tag)
	id, err := os.ReadFile(filepath.Join(State(), "images", "evergate-"+tag+".id"))
	if err != nil {
		return false // not an image of the rig
	}
	ids := c.Kubectl(t, "", "-n", Namespace, "get", "pods", "-l", "app.kubernetes.io/component=webhook",
		"-o", "jsonpath={.items[*].status.containerStatuses[*].imageID}")
	for running := range strings.FieldsSeq(ids) {
		if !strings.HasSuffix(running, strings.TrimSpace(string(id))) {
			return true
		}
	}
	return false
}

// Apply is like Install, without waiting.
func (c *Cluster) Apply(t testing.TB, p Product) {
	t.Helper()
	c.Kubectl(t, "", "apply", "-k", c.overlay(t, p))
}

// overlay writes a separate overlay for the test, as a user would: a base, the image and the patches.
func (c *Cluster) overlay(t testing.TB, p Product) string {
	t.Helper()
	source := cmp.Or(p.Source, filepath.Dir(c.Dir))
	overlay := cmp.Or(p.Overlay, "fail-open")
	base := filepath.Join(source, overlay)
	if filepath.Base(overlay) == overlay {
		base = filepath.Join(source, "kustomize", "overlays", overlay)
	}
	// kustomize resolves links, so the relative paths below must start at the resolved directory.
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	relative := func(path string) string { // kustomize does not accept absolute paths
		if path, err = filepath.Rel(dir, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	name, tag := image(p.Tag)
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [%q]
images: [{name: ghcr.io/evergate/evergate, newName: %q, newTag: %q}]
`, relative(base), name, tag)
	if len(p.Components) > 0 {
		text.WriteString("components:\n")
	}
	for _, component := range p.Components {
		fmt.Fprintf(&text, "- %q\n", relative(filepath.Join(source, "kustomize", "components", component)))
	}
	if len(p.Patches) > 0 {
		text.WriteString("patches:\n" + strings.Join(p.Patches, "\n") + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// image returns the name and the tag of the product's image. On a cluster that is not the rig, E2E_IMAGE is NAME:TAG of
// an image that its nodes can pull or have loaded.
func image(tag string) (string, string) {
	if ref := os.Getenv("E2E_IMAGE"); ref != "" && tag == "" {
		if i := strings.LastIndex(ref, ":"); i > 0 {
			return ref[:i], ref[i+1:]
		}
	}
	return Repository, cmp.Or(tag, "e2e")
}
