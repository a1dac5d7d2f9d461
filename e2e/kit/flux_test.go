package kit

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// flux is the kustomize-controller of Flux with the Kustomizations in examples/gitops/flux.yaml. The test does the work
// of the source-controller: it serves an archive of the repository and writes its address into the GitRepository.
type flux struct {
	*cluster
	repo     string
	archive  atomic.Pointer[[]byte]
	server   *httptest.Server
	revision int // of the repository
	requests int // to reconcile
}

// TestFlux runs Flux's kustomize-controller on an API server.
func TestFlux(t *testing.T) {
	t.Parallel()
	program := controllerProgram(t, "kustomize-controller")
	c := start(t)
	f := &flux{cluster: c, repo: newRepository(t)}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(*f.archive.Load())
	}))
	t.Cleanup(f.server.Close)
	c.kubectl(t, "", "apply", "--server-side", "-f", "testdata/flux-sources-crds.yaml",
		"-f", filepath.Join(filepath.Dir(program), "manifests"))
	c.kubectl(t, "", "wait", "--for=condition=Established", "--timeout="+hangs.String(), "crd", "--all")
	c.kubectl(t, "", "create", "namespace", "flux-system")
	c.kubectl(t, "", "apply", "-f", filepath.Join(gitops, "flux.yaml"))
	f.patchKustomization(t, `{"timeout": "5s"}`, "evergate") // the first rollout does not finish
	dir := t.TempDir()
	background(t, dir, []string{"KUBECONFIG=" + c.kubeconfig, "RUNTIME_NAMESPACE=flux-system", "TMPDIR=" + dir}, program,
		"--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0", "--requeue-dependency=1s")
	g := &gitOps{cluster: c, controller: f, repo: f.repo, base: "resources: [../kustomize/overlays/fail-closed]\n"}
	g.run(t)
	// The control of the injected CA.
	t.Run("a caBundle in the overlay replaces the CA", func(t *testing.T) {
		injected := c.bundles(t)
		g.push(t, newImage+withBundle("Cg=="))
		g.apply(t)
		if got := changes(injected, c.bundles(t)); !cmp.Equal(got, []string{"pods.validate.evergate.dev"}) {
			t.Errorf("changed: %s", got)
		}
	})
	t.Run("only Flux ignores an empty caBundle", func(t *testing.T) {
		injected := c.inject(t)
		all := g.push(t, newImage+withBundle(""))
		g.unchanged(t, all, func() { g.apply(t) })
		c.kubectl(t, string(all), "apply", "--server-side", "--force-conflicts", "-f", "-")
		if got := changes(injected, c.bundles(t)); !cmp.Equal(got, []string{"pods.validate.evergate.dev"}) {
			t.Errorf("changed by kubectl: %s", got)
		}
	})
}

func (f *flux) publish(t *testing.T) {
	t.Helper()
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	for _, step := range []func() error{
		func() error { return files.AddFS(os.DirFS(f.repo)) }, files.Close, compressed.Close,
	} {
		must(t, step())
	}
	data := archive.Bytes()
	f.archive.Store(&data)
	f.revision++
	status := fmt.Sprintf(`{"status": {"artifact": {"path": "x", "url": "%s/%d.tar.gz", "revision": %q, "size": %d,
		"digest": "sha256:%x", "lastUpdateTime": "2026-01-01T00:00:00Z"}}}`,
		f.server.URL, f.revision, f.newest(), len(data), sha256.Sum256(data))
	f.kubectl(t, "", "-n", "flux-system", "patch", "gitrepository", "cluster", "--subresource=status", "--type=merge",
		"-p", status)
}

// newest returns the name of the newest revision.
func (f *flux) newest() string { return "main@sha1:" + strconv.Itoa(f.revision) }

// kustomization is what a test reads from a Kustomization.
type kustomization struct {
	metav1.ObjectMeta `json:"metadata"`

	Status struct {
		ObservedGeneration     int64
		LastAppliedRevision    string
		LastHandledReconcileAt string
		Conditions             []metav1.Condition
	}
}

// ready returns the condition Ready of a Kustomization.
func (k *kustomization) ready() metav1.Condition {
	for _, c := range k.Status.Conditions {
		if c.Type == "Ready" {
			return c
		}
	}
	return metav1.Condition{}
}

// request asks the controller to reconcile both Kustomizations, as flux reconcile does, and waits until it has done so
// and the condition applies to both. If it does not, the test shows them.
func (f *flux) request(t *testing.T, during func(), condition func(evergate, webhooks kustomization) bool) {
	t.Helper()
	f.requests++
	request := strconv.Itoa(f.requests)
	names := []string{"evergate", "evergate-webhooks"}
	f.kubectl(t, "", "-n", "flux-system", "annotate", "--overwrite", "kustomizations", names[0], names[1],
		"reconcile.fluxcd.io/requestedAt="+request)
	var list struct{ Items []kustomization }
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%+v", list.Items)
		}
	})
	await(t, "Flux does not reconcile", func(context.Context) bool {
		during()
		out := f.kubectl(t, "", append([]string{"-n", "flux-system", "get", "kustomizations", "-o", "json"}, names...)...)
		list.Items = nil
		must(t, json.Unmarshal([]byte(out), &list))
		for _, k := range list.Items {
			if k.Status.LastHandledReconcileAt != request {
				return false
			}
		}
		return condition(list.Items[0], list.Items[1])
	})
}

func (f *flux) reconcile(t *testing.T, during func()) {
	t.Helper()
	applied := func(k kustomization) bool {
		return k.ready().Status == metav1.ConditionTrue && k.Status.ObservedGeneration == k.Generation &&
			k.Status.LastAppliedRevision == f.newest()
	}
	f.request(t, during, func(evergate, webhooks kustomization) bool { return applied(evergate) && applied(webhooks) })
}

func (f *flux) unhealthy(t *testing.T) {
	t.Helper()
	f.request(t, func() {}, func(evergate, webhooks kustomization) bool {
		got := evergate.ready()
		return got.Reason == "HealthCheckFailed" && strings.Count(got.Message, "status: '") == 1 &&
			strings.Contains(got.Message, "Deployment/evergate-system/evergate status: 'InProgress'") &&
			webhooks.ready().Reason == "DependencyNotReady"
	})
	f.patchKustomization(t, `{"timeout": "5m"}`, "evergate")
}

func (f *flux) pause(t *testing.T) {
	t.Helper()
	_, commands, _ := strings.Cut(block(t, "break-glass.md", "sh", "kubectl -n argocd patch"), "\n")
	f.bash(t, commands)
}

func (f *flux) paused(t *testing.T) {
	t.Helper()
	f.request(t, func() {}, func(_, _ kustomization) bool { return true })
}

func (f *flux) resume(t *testing.T) {
	t.Helper()
	f.patchKustomization(t, `{"suspend": null}`, "evergate", "evergate-webhooks")
}

func (f *flux) prune(t *testing.T, on bool) {
	t.Helper()
	f.patchKustomization(t, fmt.Sprintf(`{"prune": %t}`, on), "evergate", "evergate-webhooks")
}

func (f *flux) patchKustomization(t *testing.T, spec string, names ...string) {
	t.Helper()
	f.kubectl(t, "", append([]string{"-n", "flux-system", "patch", "kustomizations", "--type=merge",
		"-p", `{"spec": ` + spec + `}`}, names...)...)
}
