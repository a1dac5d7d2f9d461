package kit

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/e2e/internal/tool"
)

// gitOps is a GitOps controller that applies the directory evergate of a Git repository to a cluster. The cluster does
// not have any other controllers. The tests write the status of Deployments and Certificates in their place.
type gitOps struct {
	*cluster
	controller

	repo string // contains kustomize/ and evergate/
	base string // the overlay in evergate/, to which each revision adds components and patches
}

// controller is the part of a test that depends on the GitOps controller.
type controller interface {
	// publish makes the files of the repository its newest revision.
	publish(t *testing.T)
	// reconcile makes the controller apply the newest revision, and waits until it has done so. during is called
	// repeatedly while it waits.
	reconcile(t *testing.T, during func())
	// unhealthy waits until the controller has applied all objects except the webhooks, and waits only for the Deployment.
	unhealthy(t *testing.T)
	// pause runs the commands of the break-glass page.
	pause(t *testing.T)
	// paused waits until the paused controller has had an occasion to undo the last changes to the cluster.
	paused(t *testing.T)
	// resume applies the example again.
	resume(t *testing.T)
	// prune switches pruning on or off.
	prune(t *testing.T, on bool)
}

// controllerProgram returns the path of a GitOps controller. It skips the test unless make test-gitops runs it, because
// the controllers take minutes to compile.
func controllerProgram(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv("EVERGATE_E2E_GITOPS") == "" {
		t.Skip("run make test-gitops, which builds the controllers")
	}
	return tool.Need(t, name)
}

// newRepository returns a directory with kustomize/.
func newRepository(t *testing.T) string {
	t.Helper()
	repo := t.TempDir()
	must(t, os.CopyFS(filepath.Join(repo, "kustomize"), os.DirFS(filepath.Join(root, "kustomize"))))
	must(t, os.Mkdir(filepath.Join(repo, "evergate"), 0o755))
	return repo
}

// These are parts of an overlay: a component that a revision removes, and an upgrade.
const (
	audit    = "components: [../kustomize/components/audit]\n"
	newImage = "images: [{name: ghcr.io/evergate/evergate, newTag: v0.1.1}]\n"
)

// withBundle returns a part of an overlay that sets caBundle of a webhook.
func withBundle(value string) string {
	return `transformers:
- |-
  apiVersion: builtin
  kind: PatchTransformer
  metadata: {name: ca-bundle}
  target: {kind: ValidatingWebhookConfiguration}
  patch: '[{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "` + value + `"}]'
`
}

// push publishes a revision with additions to the overlay, and returns its objects.
func (g *gitOps) push(t *testing.T, additions string) []byte {
	t.Helper()
	overlay := g.base + additions
	writeFile(t, filepath.Join(g.repo, "evergate/kustomization.yaml"), []byte(overlay))
	g.publish(t)
	k := read(t)
	must(t, k.Add("evergate", overlay))
	return k.render(t, "evergate")
}

// apply makes the controller apply the newest revision, in a cluster where each rollout of the Deployment succeeds.
func (g *gitOps) apply(t *testing.T) {
	t.Helper()
	g.reconcile(t, func() { g.rollOut(t) })
}

// run runs the steps that do not depend on the GitOps controller.
func (g *gitOps) run(t *testing.T) {
	var all []byte // the objects of the newest revision
	var injected map[string]string
	step := func(name string, test func(t *testing.T)) {
		t.Helper()
		if !t.Run(name, test) {
			t.FailNow() // the next steps start where this one ends
		}
	}
	step("the webhooks wait for the rollout", func(t *testing.T) {
		all = g.push(t, audit)
		await(t, "the objects are not applied", func(context.Context) bool {
			return len(g.live(t, all)) >= len(objects(t, all))-len(webhookKinds())
		})
		g.report(t)
		g.unhealthy(t)
		if got := g.bundles(t); len(got) != 0 {
			t.Errorf("there are webhooks: %v", got)
		}
		g.apply(t)
		if got, want := len(g.live(t, all)), len(objects(t, all)); got != want {
			t.Errorf("there are %d of %d objects", got, want)
		}
	})
	step("the same revision changes nothing", func(t *testing.T) {
		g.unchanged(t, all, func() { g.apply(t) })
	})
	step("the injected CA stays", func(t *testing.T) {
		injected = g.inject(t)
		g.unchanged(t, all, func() { g.apply(t) })
	})
	step("drift", func(t *testing.T) {
		before := settings(t, g.live(t, all))
		g.drift(t)
		g.restored(t, all, before)
		t.Run("a paused controller leaves it", func(t *testing.T) {
			g.pause(t)
			g.drift(t)
			drifted := settings(t, g.live(t, all))
			if changed := changes(before, drifted); len(changed) != 3 {
				t.Fatalf("changed by hand: %s", changed)
			}
			g.paused(t)
			equal(t, drifted, settings(t, g.live(t, all)))
			g.resume(t)
			g.restored(t, all, before)
		})
	})
	step("prune", func(t *testing.T) {
		foreign := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "evergate-foreign"}}
		if _, err := g.admin.CoreV1().ServiceAccounts("evergate-system").Create(t.Context(), foreign,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		with, before := all, g.live(t, all)
		g.prune(t, false)
		all = g.push(t, "")
		g.apply(t)
		equal(t, versions(before), versions(g.live(t, with)), "without pruning")
		g.push(t, audit) // Flux forgets an object that it has not pruned
		g.apply(t)
		g.prune(t, true)
		g.push(t, "")
		g.apply(t)
		after := g.live(t, with)
		equal(t, versions(g.live(t, all)), versions(after), "not pruned")
		if got := changes(versions(before), versions(after)); !cmp.Equal(got, []string{
			"ClusterRole evergate-audit", "ClusterRoleBinding evergate-audit", "CronJob evergate-audit",
			"ServiceAccount evergate-audit",
		}) {
			t.Errorf("changed: %s", got)
		}
		if _, err := g.admin.CoreV1().ServiceAccounts("evergate-system").Get(t.Context(), foreign.Name,
			metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	})
	step("upgrade", func(t *testing.T) {
		before := g.live(t, all)
		all = g.push(t, newImage)
		g.apply(t)
		after := g.live(t, all)
		if got := changes(versions(before), versions(after)); !cmp.Equal(got, []string{"Deployment evergate"}) {
			t.Errorf("changed: %s", got)
		}
		equal(t, injected, g.bundles(t), "caBundle")
	})
}

// unchanged runs f, and checks that it does not write any object.
func (g *gitOps) unchanged(t *testing.T, manifests []byte, f func()) {
	t.Helper()
	before := versions(g.live(t, manifests))
	f()
	equal(t, before, versions(g.live(t, manifests)))
}

// restored waits until the controller has undone the drift. The controller must then be done: it changes nothing more.
func (g *gitOps) restored(t *testing.T, manifests []byte, want map[string]string) {
	t.Helper()
	g.apply(t)
	await(t, "the controller does not undo the drift", func(context.Context) bool {
		g.rollOut(t)
		return cmp.Equal(want, settings(t, g.live(t, manifests)))
	})
	g.apply(t)
	g.unchanged(t, manifests, func() { g.apply(t) })
}

// drift changes objects by hand, as people do in an incident.
func (g *gitOps) drift(t *testing.T) {
	t.Helper()
	for _, kind := range webhookKinds() {
		g.kubectl(t, "", "patch", kind, "evergate", "--type=json", "-p",
			`[{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 7}]`)
	}
	g.kubectl(t, "", "-n", "evergate-system", "scale", "deployment", "evergate", "--replicas=1")
}

// live returns the objects of manifests that exist, by kind and name.
func (c *cluster) live(t *testing.T, manifests []byte) map[string]*unstructured.Unstructured {
	t.Helper()
	var list struct{ Items []map[string]any }
	out := c.kubectl(t, string(manifests), "get", "-f", "-", "--ignore-not-found", "-o", "json")
	if out == "" {
		return nil
	}
	must(t, json.Unmarshal([]byte(out), &list))
	all := map[string]*unstructured.Unstructured{}
	for _, item := range list.Items {
		o := &unstructured.Unstructured{Object: item}
		all[o.GetKind()+" "+o.GetName()] = o
	}
	return all
}

// versions returns the resource versions of objects. Each write that changes an object changes its version.
func versions(live map[string]*unstructured.Unstructured) map[string]string {
	all := map[string]string{}
	for name, o := range live {
		all[name] = o.GetResourceVersion()
	}
	return all
}

// settings returns objects as YAML, without the fields that change whenever they are written, and without their status.
func settings(t *testing.T, live map[string]*unstructured.Unstructured) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, o := range live {
		o = o.DeepCopy()
		for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		delete(o.Object, "status")
		data, err := yaml.Marshal(o.Object)
		must(t, err)
		all[name] = string(data)
	}
	return all
}

// changes returns the keys whose values differ.
func changes(before, after map[string]string) (keys []string) {
	both := maps.Clone(before)
	maps.Copy(both, after)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		if before[key] != after[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// report writes the status of all objects except the Deployment, as the other controllers of a cluster do.
func (c *cluster) report(t *testing.T) {
	t.Helper()
	const ready = `{"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready",
		"lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`
	for kind, names := range map[string][]string{
		"issuer": {"evergate-ca", "evergate-self-signed"}, "certificate": {"evergate-ca", "evergate-tls"},
	} {
		c.patchStatus(t, ready, append([]string{kind}, names...)...)
	}
	c.patchStatus(t, `{"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}`, "cronjob", "evergate-audit")
	c.patchStatus(t, `{"status": {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 3,
		"desiredHealthy": 2, "expectedPods": 3, "conditions": [{"type": "DisruptionAllowed", "status": "True",
		"reason": "SufficientPods", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`, "pdb", "evergate")
}

func (c *cluster) patchStatus(t *testing.T, patch string, objects ...string) {
	t.Helper()
	flags := []string{"-n", "evergate-system", "patch", "--subresource=status", "--type=merge", "-p", patch}
	c.kubectl(t, "", append(flags, objects...)...)
}

// rollOut writes the status of a Deployment that has rolled out, unless it has been written for this generation.
func (c *cluster) rollOut(t *testing.T) {
	t.Helper()
	deployments := c.admin.AppsV1().Deployments("evergate-system")
	d, err := deployments.Get(t.Context(), "evergate", metav1.GetOptions{})
	must(t, err)
	if d.Status.ObservedGeneration == d.Generation {
		return
	}
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	// A conflict means that the controller has changed the Deployment, and the next call reports the new generation.
	_, _ = deployments.UpdateStatus(t.Context(), d, metav1.UpdateOptions{})
}

// background runs a program until the test ends. If the test fails, it logs the end of the output, which is in a file
// in dir.
func background(t *testing.T, dir string, env []string, program string, args ...string) {
	t.Helper()
	out, err := os.CreateTemp(dir, "log")
	must(t, err)
	defer out.Close() // the process has its own descriptor
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		err := cmd.Wait()
		if t.Failed() {
			data := readFile(t, out.Name())
			t.Logf("%s %s: %v\n%s", filepath.Base(program), args[0], err, data[max(0, len(data)-5000):])
		}
	})
}
