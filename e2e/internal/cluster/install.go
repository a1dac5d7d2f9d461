package cluster

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Product says what is installed.
type Product struct {
	// fail-open (default) or fail-closed: a directory of kustomize/overlays; a path is taken from Source
	Overlay    string
	Components []string // directories of kustomize/components
	Tag        string   // of the image; default: e2e, which make e2e-up has built and loaded from the working tree
	Source     string   // the root of the repository whose kustomize/ is applied; default: this one
	Patches    []string // kustomize patches on top, in YAML, as entries of its field "patches"
}

// Namespace is where every overlay of the kit puts the product.
const Namespace = "evergate-system"

// Install applies an overlay as users do, with kubectl apply -k, and returns when the roll-out has ended. Of an overlay
// that is installed already only what differs is changed. It leaves the user's policy alone, and ships none.
func (c *Cluster) Install(t testing.TB, p Product) {
	t.Helper()
	c.Apply(t, p)
	c.AwaitRollout(t)
	if c.isStale(t, p) {
		c.Kubectl(t, "", "-n", Namespace, "rollout", "restart", "deployment/evergate")
		c.AwaitRollout(t)
	}
}

// AwaitRollout returns when every replica of the product is of its newest revision and available.
func (c *Cluster) AwaitRollout(t testing.TB) {
	t.Helper()
	c.Kubectl(t, "", "-n", Namespace, "rollout", "status", "deployment/evergate", "--timeout=5m")
}

// isStale reports whether a Pod runs another image than the one that bears its name by now, since it was built again.
func (c *Cluster) isStale(t testing.TB, p Product) bool {
	t.Helper()
	_, tag := image(p.Tag)
	id, err := os.ReadFile(filepath.Join(State(), "images", "evergate-"+tag+".id"))
	if err != nil {
		return false // not an image of the rig's
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

// Apply is Install without the wait.
func (c *Cluster) Apply(t testing.TB, p Product) {
	t.Helper()
	c.Kubectl(t, "", "apply", "-k", c.overlay(t, p))
}

// Uninstall deletes what Install has put in, and waits until it is gone. The policy goes with its namespace.
func (c *Cluster) Uninstall(t testing.TB, p Product) {
	t.Helper()
	c.Kubectl(t, "", "delete", "-k", c.overlay(t, p), "--ignore-not-found", "--timeout=5m")
}

// overlay writes an overlay of the test's own, as a user would: a base, the image and the patches.
func (c *Cluster) overlay(t testing.TB, p Product) string {
	t.Helper()
	source := cmp.Or(p.Source, filepath.Dir(c.Dir))
	overlay := cmp.Or(p.Overlay, "fail-open")
	base := filepath.Join(source, overlay)
	if filepath.Base(overlay) == overlay {
		base = filepath.Join(source, "kustomize", "overlays", overlay)
	}
	// kustomize follows links, and the path below must lead from where it ends up
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	relative := func(path string) string { // kustomize takes no absolute paths
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

// image returns the name and the tag of the product's image. A cluster that is not the rig is named by E2E_IMAGE,
// NAME:TAG, what its nodes can pull or have been loaded with.
func image(tag string) (string, string) {
	if ref := os.Getenv("E2E_IMAGE"); ref != "" && tag == "" {
		if i := strings.LastIndex(ref, ":"); i > 0 {
			return ref[:i], ref[i+1:]
		}
	}
	return Repository, cmp.Or(tag, "e2e")
}
