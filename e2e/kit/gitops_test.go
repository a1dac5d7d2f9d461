package kit

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const gitops = root + "/examples/gitops"

// TestGitOps checks that the types of Argo CD and Flux have every field of the examples, and that the commands on the
// break-glass page pause both.
func TestGitOps(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.kubectl(t, "", "apply", "--server-side", "-f", "testdata/gitops-crds.yaml")
	c.kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	c.kubectl(t, "", "create", "namespace", "argocd")
	c.kubectl(t, "", "create", "namespace", "flux-system")
	c.kubectl(t, "", "apply", "--validate=strict", "-f", gitops)
	t.Run("an unknown field is rejected", func(t *testing.T) {
		for _, file := range []string{"argocd.yaml", "flux.yaml"} {
			data := strings.Replace(string(readFile(t, filepath.Join(gitops, file))), "\nspec:\n", "\nspec:\n  pathh: x\n", 1)
			cmd := exec.CommandContext(t.Context(), c.bin.Kubectl(), "apply", "--validate=strict", "-f", "-")
			cmd.Env, cmd.Stdin = append(os.Environ(), "KUBECONFIG="+c.kubeconfig), strings.NewReader(data)
			if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte(`unknown field "spec.pathh"`)) {
				t.Errorf("%s: %v\n%s", file, err, out)
			}
		}
	})
	t.Run("paused", func(t *testing.T) {
		c.shell(t, "break-glass.md", "kubectl -n argocd patch")
		if got := c.kubectl(t, "", "-n", "argocd", "get", "application", "evergate", "-o",
			"jsonpath={.spec.syncPolicy.automated}"); got != "" {
			t.Errorf("Argo CD is not paused: %s", got)
		}
		if got := c.kubectl(t, "", "-n", "flux-system", "get", "kustomizations.kustomize.toolkit.fluxcd.io", "-o",
			"jsonpath={.items[*].spec.suspend}"); got != "true true" {
			t.Errorf("suspended in Flux: %s", got)
		}
	})
}

// TestWaves checks that Argo CD applies only the webhooks after all other objects.
func TestWaves(t *testing.T) {
	var later []string
	for _, o := range objects(t, read(t).render(t, "examples/overlays/argocd")) {
		switch wave := o.GetAnnotations()["argocd.argoproj.io/sync-wave"]; wave {
		case "":
		case "1":
			later = append(later, o.GetKind())
		default:
			t.Errorf("%s %s is in wave %s", o.GetKind(), o.GetName(), wave)
		}
	}
	slices.Sort(later)
	equal(t, webhookKinds(), later, "of the later wave")
}

// TestFluxParts applies the patches of both Kustomizations to every overlay. Each object is in exactly one of the two
// parts, because otherwise both would manage it. The later part contains the webhooks.
func TestFluxParts(t *testing.T) {
	var patches []string // of the first and of the second
	for _, o := range objects(t, readFile(t, filepath.Join(gitops, "flux.yaml"))) {
		if o.GetKind() != "Kustomization" {
			continue
		}
		list, _, err := unstructured.NestedSlice(o.Object, "spec", "patches")
		must(t, err)
		data, err := json.Marshal(list)
		must(t, err)
		patches = append(patches, string(data))
	}
	if len(patches) != 2 {
		t.Fatalf("there are %d Kustomizations", len(patches))
	}
	eachOverlay(t, func(t *testing.T, k *Kit, dir string) {
		part := func(patches string) [][]byte {
			return documents(t, k.render(t, k.add(t, "resources: [../../"+dir+"]\npatches: "+patches)))
		}
		first, second := part(patches[0]), part(patches[1])
		kinds := []string{} // an overlay with only native policies has no webhooks
		for _, o := range objects(t, bytes.Join(second, []byte("\n---\n"))) {
			kinds = append(kinds, o.GetKind())
		}
		slices.Sort(kinds)
		// An overlay without the webhooks for Pods has no MutatingWebhookConfiguration.
		want := slices.DeleteFunc(webhookKinds(), func(kind string) bool {
			return !bytes.Contains(k.render(t, dir), []byte("\nkind: "+kind+"\n"))
		})
		equal(t, want, kinds, "of the second part")
		got, whole := slices.Concat(first, second), documents(t, k.render(t, dir))
		slices.SortFunc(got, bytes.Compare)
		slices.SortFunc(whole, bytes.Compare)
		equal(t, whole, got, "both parts together")
	})
}

func webhookKinds() []string {
	return []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
}

// objects decodes the documents of a YAML stream.
func objects(t *testing.T, stream []byte) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, doc := range documents(t, stream) {
		o := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal(doc, &o.Object))
		if len(o.Object) > 0 { // skips a comment before the first document
			all = append(all, o)
		}
	}
	return all
}
