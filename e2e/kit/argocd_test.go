package kit

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/controlplane"
)

// argoCD is the application controller and the repository server of Argo CD with the Application in
// examples/gitops/argocd.yaml, whose repository is a directory.
type argoCD struct {
	*cluster
	repo    string
	app     string // the Application
	applied bool   // publish has applied it
	pruning bool
}

// TestArgoCD runs the controllers of Argo CD on an API server.
func TestArgoCD(t *testing.T) {
	t.Parallel()
	program := controllerProgram(t, "argocd")
	c := start(t)
	a := &argoCD{cluster: c, repo: newRepository(t), pruning: true}
	a.git(t, "init", "-q", "-b", "main")
	const url = "https://git.corp.example/platform/cluster.git"
	a.app = strings.Replace(string(readFile(t, filepath.Join(gitops, "argocd.yaml"))), url, "file://"+a.repo, 1)
	manifests := filepath.Join(filepath.Dir(program), "manifests")
	c.kubectl(t, "", "create", "namespace", "argocd")
	c.kubectl(t, "", "apply", "--server-side", "-f", manifests, "-n", "argocd")
	c.kubectl(t, "", "wait", "--for=condition=Established", "--timeout="+hangs.String(), "crd", "--all")
	c.kubectl(t, project, "apply", "-f", "-")
	overlay := readFile(t, filepath.Join(root, "examples/overlays/argocd/kustomization.yaml"))
	g := &gitOps{cluster: c, controller: a, repo: a.repo,
		base: strings.Replace(string(overlay), "../../../kustomize/", "../kustomize/", 1)}
	a.start(t, program)
	g.run(t)
	t.Run("with server-side apply, the CA is not a difference", func(t *testing.T) {
		a.patch(t, `{"ignoreDifferences": null}`)
		all := g.push(t, newImage+"# another revision\n")
		g.unchanged(t, all, func() { g.apply(t) })
		before := settings(t, c.live(t, all))
		g.drift(t) // Argo CD has compared the CA when it has undone the drift
		g.restored(t, all, before)
		a.resume(t)
		g.apply(t)
	})
	t.Run("a placeholder is a difference without ignoreDifferences", func(t *testing.T) {
		injected := c.bundles(t)
		all := g.push(t, newImage+withBundle("Cg=="))
		g.unchanged(t, all, func() { g.apply(t) })
		a.patch(t, `{"ignoreDifferences": null}`)
		await(t, "the CA stays", func(context.Context) bool {
			return cmp.Equal(changes(injected, c.bundles(t)), []string{"pods.validate.evergate.dev"})
		})
	})
}

// project is the project that the API server of Argo CD creates.
const project = `
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: argocd}
spec:
  sourceRepos: ['*']
  destinations: [{namespace: '*', server: '*'}]
  clusterResourceWhitelist: [{group: '*', kind: '*'}]
`

// start starts the processes of Argo CD. kubectl does the work of kustomize.
func (a *argoCD) start(t *testing.T, program string) {
	t.Helper()
	dir := t.TempDir()
	addresses, err := controlplane.FreePorts(t.Context(), 4)
	must(t, err)
	var ports []string
	for _, address := range addresses {
		_, port, err := net.SplitHostPort(address)
		must(t, err)
		ports = append(ports, port)
	}
	kustomize := "#!/bin/sh\nshift\nexec " + a.bin.Kubectl() + ` kustomize "$@"` + "\n"
	must(t, os.WriteFile(filepath.Join(dir, "kustomize"), []byte(kustomize), 0o755))
	env := []string{
		"KUBECONFIG=" + a.kubeconfig, "ARGOCD_FAKE_IN_CLUSTER=true", "ARGOCD_GPG_ENABLED=false",
		"ARGOCD_ASK_PASS_SOCK=" + filepath.Join(dir, "ask-pass.sock"),
		"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + dir + ":" + os.Getenv("PATH"),
	}
	background(t, dir, env, program, "redis", addresses[0])
	background(t, dir, env, program, "argocd-repo-server", "--redis", addresses[0], "--disable-tls",
		"--address", "127.0.0.1", "--port", ports[1], "--metrics-address", "127.0.0.1", "--metrics-port", ports[2])
	background(t, dir, env, program, "argocd-application-controller", "--redis", addresses[0], "--namespace", "argocd",
		"--repo-server", addresses[1], "--repo-server-plaintext", "--metrics-port", ports[3],
		"--self-heal-backoff-timeout-seconds", "0")
}

func (a *argoCD) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = a.repo
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=test", "GIT_COMMITTER_NAME=test",
		"GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_EMAIL=test@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (a *argoCD) publish(t *testing.T) {
	t.Helper()
	a.git(t, "add", "--all")
	a.git(t, "commit", "-q", "-m", "change")
	if !a.applied {
		a.resume(t)
		a.applied = true
	}
}

// application is what a test reads from an Application.
type application struct {
	metav1.ObjectMeta `json:"metadata"`

	Operation *struct{}
	Status    struct {
		Sync           struct{ Status, Revision string }
		Health         struct{ Status string }
		OperationState struct {
			Phase, Message string
			Operation      struct {
				Sync struct{ SelfHealAttemptsCount int }
			}
		}
		Resources []struct {
			Kind, Name, Status string
		}
		Conditions []struct{ Type, Message string }
	}
}

// await waits until the condition applies to the Application. If it does not, the test shows the Application.
func (a *argoCD) await(t *testing.T, what string, condition func(application) bool) {
	t.Helper()
	var app application
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%+v", app)
		}
	})
	await(t, what, func(context.Context) bool {
		out := a.kubectl(t, "", "-n", "argocd", "get", "application", "evergate", "-o", "json")
		app = application{}
		must(t, json.Unmarshal([]byte(out), &app))
		return condition(app)
	})
}

// refreshAnnotation makes Argo CD compare, like argocd app get --hard-refresh. The controller removes it afterwards.
const refreshAnnotation = "argocd.argoproj.io/refresh"

func (a *argoCD) refresh(t *testing.T) {
	t.Helper()
	a.kubectl(t, "", "-n", "argocd", "annotate", "--overwrite", "application", "evergate", refreshAnnotation+"=hard")
}

func (a *argoCD) reconcile(t *testing.T, during func()) {
	t.Helper()
	a.refresh(t)
	newest := a.git(t, "rev-parse", "HEAD")
	a.await(t, "Argo CD does not sync", func(app application) bool {
		during()
		if strings.HasPrefix(app.Status.OperationState.Message, "waiting for deletion of") {
			a.collectGarbage(t)
		}
		return app.Annotations[refreshAnnotation] == "" && app.Operation == nil && app.Status.Sync.Revision == newest &&
			app.Status.OperationState.Phase == "Succeeded" && app.Status.Health.Status == "Healthy" &&
			(app.Status.Sync.Status == "Synced" || !a.pruning)
	})
}

// collectGarbage finishes the deletion of objects that Argo CD has pruned, as the garbage collector of a cluster does.
func (a *argoCD) collectGarbage(t *testing.T) {
	t.Helper()
	kinds := "clusterrole,clusterrolebinding,cronjob,serviceaccount"
	names := a.kubectl(t, "", "-n", "evergate-system", "get", kinds, "evergate-audit", "--ignore-not-found", "-o",
		`jsonpath={range .items[?(@.metadata.deletionTimestamp)]}{.kind}/{.metadata.name} {end}`)
	for name := range strings.FieldsSeq(names) {
		a.kubectl(t, "", "-n", "evergate-system", "patch", name, "--type=merge", "-p", `{"metadata": {"finalizers": null}}`)
	}
}

func (a *argoCD) unhealthy(t *testing.T) {
	t.Helper()
	a.await(t, "Argo CD does not wait for the Deployment only", func(app application) bool {
		return app.Status.OperationState.Phase == "Running" && app.Status.Health.Status == "Progressing" &&
			app.Status.OperationState.Message == "waiting for healthy state of apps/Deployment/evergate"
	})
}

func (a *argoCD) pause(t *testing.T) {
	t.Helper()
	command, _, _ := strings.Cut(block(t, "break-glass.md", "sh", "kubectl -n argocd patch"), "\n")
	a.bash(t, command)
}

func (a *argoCD) paused(t *testing.T) {
	t.Helper()
	a.refresh(t)
	a.await(t, "Argo CD does not notice the drift", func(app application) bool {
		n := 0
		for _, r := range app.Status.Resources {
			if r.Status == "OutOfSync" {
				n++
			}
		}
		return app.Annotations[refreshAnnotation] == "" && app.Operation == nil && n == 3
	})
}

func (a *argoCD) resume(t *testing.T) {
	t.Helper()
	a.kubectl(t, a.app, "apply", "-f", "-")
}

func (a *argoCD) prune(t *testing.T, on bool) {
	t.Helper()
	a.pruning = on
	a.patch(t, fmt.Sprintf(`{"syncPolicy": {"automated": {"prune": %t}}}`, on))
}

func (a *argoCD) patch(t *testing.T, spec string) {
	t.Helper()
	a.kubectl(t, "", "-n", "argocd", "patch", "application", "evergate", "--type=merge", "-p", `{"spec": `+spec+`}`)
}
