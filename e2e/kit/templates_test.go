package kit

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
)

const (
	templates    = "templates.validate.evergate.dev"
	templateCRDs = "testdata/templates-crds.yaml"
)

// rolloutTemplate is an entry for the templates block.
const rolloutTemplate = `- {group: argoproj.io, versions: [v1alpha1], kind: Rollout, resource: rollouts, paths: [spec.template]}
`

const templatesPolicy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
templates:
` + rolloutTemplate + `- group: ray.io
  versions: [v1, v1alpha1]
  kind: RayJob
  resource: rayjobs
  paths: [spec.rayClusterSpec.headGroupSpec.template, spec.rayClusterSpec.workerGroupSpecs.*.template]
- {group: odd.example, versions: [v1], kind: Odd, resource: odds, paths: [spec.pod-spec, spec.for.*.template]}
pods:
- {name: no-quay, mode: enforce, images: {denied: [quay.io]}}
`

// templatesOverlay creates an overlay that adds the output of evergate policy webhooks to an overlay in the manifests,
// and returns its directory. more contains further lines of its kustomization.
func templatesOverlay(t *testing.T, binary, overlay, more string) string {
	t.Helper()
	args := []string{"policy", "webhooks", "--policy", policyFile(t, templatesPolicy)}
	patch, err := exec.CommandContext(t.Context(), binary, args...).Output()
	must(t, err)
	dir := t.TempDir()
	top, err := filepath.Abs(filepath.Join(root, "kustomize"))
	must(t, err)
	kustomize, err := filepath.Rel(dir, top) // a base cannot have an absolute path
	must(t, err)
	kustomization := strings.ReplaceAll("resources: [$kit/overlays/"+overlay+"]\n"+
		"patches: [{path: templates-webhook.yaml}]\n"+
		"transformers: [$kit/wiring]\n"+more, "$kit", kustomize)
	files := map[string]string{"templates-webhook.yaml": string(patch), "kustomization.yaml": kustomization}
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// TestTemplatesWebhook checks that the printed webhook fails open in every overlay, and selects the namespaces of the
// webhook for Pods, in whichever namespace Evergate is.
func TestTemplatesWebhook(t *testing.T) {
	t.Parallel()
	bin, binary := binaries(t), build(t)
	for _, overlay := range []string{"fail-open", "fail-closed"} {
		for _, more := range []string{"", "components: [$kit/components/match-all-namespaces]\n", "namespace: elsewhere\n"} {
			out, err := exec.CommandContext(t.Context(), bin.Kubectl(), "kustomize",
				templatesOverlay(t, binary, overlay, more)).CombinedOutput()
			if err != nil {
				t.Fatalf("%s, %s: %v\n%s", overlay, more, err, out)
			}
			entries := webhooksOf(t, out)
			got, want := entries[templates], entries[pods]
			if diff := cmp.Diff(want.NamespaceSelector, got.NamespaceSelector); diff != "" {
				t.Errorf("%s, %s: -pods +templates:\n%s", overlay, more, diff)
			}
			if *got.FailurePolicy != admissionv1.Ignore || *got.TimeoutSeconds != 3 {
				t.Errorf("%s, %s: failurePolicy %s, %d s", overlay, more, *got.FailurePolicy, *got.TimeoutSeconds)
			}
			if diff := cmp.Diff(want.ClientConfig.Service.Namespace, got.ClientConfig.Service.Namespace); diff != "" {
				t.Errorf("%s, %s: the Service: -pods +templates:\n%s", overlay, more, diff)
			}
			if diff := cmp.Diff(want.MatchConditions[0], got.MatchConditions[0]); diff != "" {
				t.Errorf("%s, %s: -pods +templates:\n%s", overlay, more, diff)
			}
		}
	}
}

// TestTemplatesCalls checks that the printed webhook is called only for creations and for changes of a template.
func TestTemplatesCalls(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.kubectl(t, "", "apply", "-f", templateCRDs)
	c.kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	c.kubectl(t, "", "apply", "-k", templatesOverlay(t, build(t), "fail-open", ""))
	c.kubectl(t, "", "delete", "service", "-n", "evergate-system", "evergate") // a call fails immediately
	c.createNamespace(t, "team", map[string]string{optIn: "enabled"})
	c.createNamespace(t, "plain", nil)
	await(t, "the webhook is active", func(context.Context) bool {
		before := c.calls(t)
		c.kubectl(t, rollout("awaited", mirrored), "-n", "team", "create", "--dry-run=server", "-f", "-")
		return difference(before, c.calls(t))[templates] == 1
	})
	patch := func(object, merge string) string { return "patch " + object + " --type=merge --patch " + merge }
	const (
		head = `{"spec":{"rayClusterSpec":{"headGroupSpec":{"template":{"spec":{"containers":[{"name":"h","image":"a"}]}}}}}}`
		size = `{"spec":{"rayClusterSpec":{"workerGroupSpecs":[{"replicas":2}]}}}`
	)
	for _, step := range []struct {
		do, stdin string
		want      int
	}{
		{"create -f -", rollout("web", mirrored), 1},
		{"scale rollout web --replicas=3", "", 0},
		{patch("rollout web --subresource=status", `{"status":{"replicas":3}}`), "", 0},
		{"label rollout web a=b", "", 0},
		{"annotate rollout web a=b", "", 0},
		{patch("rollout web", `{"spec":{"strategy":{"canary":{}}}}`), "", 0},
		{patch("rollout web", `{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`), "", 1},
		{patch("rollout web", `{"spec":{"template":null}}`), "", 1},
		{patch("rollout web", `{"spec":{"paused":true}}`), "", 0},
		{patch("rollout web", `{"spec":null}`), "", 0},
		{patch("rollout web", `{"spec":{"template":{"spec":{}}}}`), "", 1},
		{"delete rollout web", "", 0},
		{"create -f -", "{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: bare}}", 1},
		{"label rollout bare a=b", "", 0},
		{"create -f -", "{apiVersion: ray.io/v1alpha1, kind: RayJob, metadata: {name: job}, spec: {entrypoint: a}}", 1},
		{patch("rayjob job", `{"spec":{"entrypoint":"b"}}`), "", 0},
		{patch("rayjob job", head), "", 1},
		{patch("rayjob job", size), "", 1}, // up to the * of the path
		{patch("rayjobs.v1alpha1.ray.io job", `{"spec":{"entrypoint":"c"}}`), "", 0},
		{"create -f -", "{apiVersion: odd.example/v1, kind: Odd, metadata: {name: odd}, spec: {a: b}}", 1},
		{patch("odd odd", `{"spec":{"template":{}}}`), "", 0},
		{patch("odd odd", `{"spec":{"pod-spec":{}}}`), "", 1},
		{patch("odd odd", `{"spec":{"for":{"a":{"template":{}}}}}`), "", 1},
		{"-n plain create -f -", rollout("web", mirrored), 0},
	} {
		before := c.calls(t)
		c.kubectl(t, step.stdin, append([]string{"-n", "team"}, strings.Fields(step.do)...)...)
		got := difference(before, c.calls(t))
		if got[templates] != step.want || len(got) > step.want {
			t.Errorf("kubectl %s: webhooks called: %v, want %d of %s", step.do, got, step.want, templates)
		}
	}
	if errs := c.counter(t, "apiserver_admission_match_condition_evaluation_errors_total"); len(errs) > 0 {
		t.Errorf("conditions that could not be evaluated: %v", errs)
	}
}

// rollout returns the manifest of a Rollout with one container.
func rollout(name, image string) string {
	return `apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: ` + name + `}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: app, image: "` + image + `"}]
`
}

// TestTemplatesServed checks that kubectl shows the findings in a template of a custom resource, and of a Deployment.
// Both are stored, because these rules deny only the Pods.
func TestTemplatesServed(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.kubectl(t, "", "apply", "-f", templateCRDs)
	c.kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	binary := build(t)
	c.kubectl(t, "", "apply", "-k", templatesOverlay(t, binary, "fail-closed", ""))
	c.serve(t, binary, policyFile(t, templatesPolicy))
	c.createNamespace(t, "team", map[string]string{optIn: "enabled"})
	policyHash := regexp.MustCompile(`\[warn [0-9a-f]{12}\]`)
	const denied = `"quay.io/evil/x" is denied by quay.io; its Pods will be denied`
	await(t, "the webhooks are active", func(context.Context) bool {
		return c.said(t, rollout("awaited", "quay.io/evil/x"), "create", "--dry-run=server", "-f", "-") != ""
	})
	for _, test := range []struct{ do, stdin, want string }{
		{"create -f -", rollout("web", "quay.io/evil/x"),
			"Warning: [warn HASH] no-quay/images.denied: spec.template.spec.containers[0].image: " + denied + "\n"},
		{"create -f -", rollout("good", "ghcr.io/a/b"), ""},
		{"scale rollout web --replicas=3", "", ""},
		{`patch rollout good --type=json ` +
			`--patch [{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"quay.io/evil/x"}]`, "",
			"Warning: [warn HASH] no-quay/images.denied: spec.template.spec.containers[0].image: " + denied + "\n"},
		{`patch rollout web --type=merge --patch {"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`, "", ""},
		{"create -f -", rayJob,
			"Warning: [warn HASH] no-quay/images.denied: " +
				"spec.rayClusterSpec.workerGroupSpecs[1].template.spec.containers[0].image: " + denied + "\n"},
		{"create -f -", oddOne,
			"Warning: [warn HASH] no-quay/images.denied: spec.for[a.b].template.initContainers[0].image: " + denied + "\n"},
		{"create deployment web --image=quay.io/evil/x", "",
			"Warning: [warn HASH] no-quay/images.denied: spec.template.spec.containers[0].image: " + denied + "\n"},
	} {
		got := c.said(t, test.stdin, strings.Fields(test.do)...)
		if diff := cmp.Diff(test.want, policyHash.ReplaceAllString(got, "[warn HASH]")); diff != "" {
			t.Errorf("kubectl %s: -want +got:\n%s", test.do, diff)
		}
	}
}

const rayJob = `{apiVersion: ray.io/v1alpha1, kind: RayJob, metadata: {name: job}, spec: {rayClusterSpec: {workerGroupSpecs: [
  {template: {spec: {containers: [{name: a, image: ghcr.io/a/b}]}}},
  {template: {spec: {containers: [{name: a, image: quay.io/evil/x}]}}}]}}}`

const oddOne = `{apiVersion: odd.example/v1, kind: Odd, metadata: {name: odd},
  spec: {for: {a.b: {template: {initContainers: [{name: a, image: quay.io/evil/x}]}}}}}`

// said runs kubectl in the namespace team and returns its stderr.
func (c *cluster) said(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.bin.Kubectl(), append([]string{"--namespace=team"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HOME="+filepath.Dir(c.kubeconfig))
	cmd.Stdin = strings.NewReader(stdin)
	var said strings.Builder
	cmd.Stderr = &said
	if out, err := cmd.Output(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, out, &said)
	}
	return said.String()
}
