package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/pki"
	"github.com/evergate/evergate/e2e/internal/process"
)

// plugin is the built kubectl plugin, and a cluster with replicas on which it is used.
type plugin struct {
	*cluster
	binary     string
	kubeconfig string   // of the user that runs it
	kubelet    *kubelet // of the replicas; nil if there are none
}

// startPlugin starts a control plane with the manifests, CAs in the webhooks, and replicas.
func startPlugin(t *testing.T, replicas ...string) *plugin {
	t.Helper()
	c := start(t)
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-open"))
	c.injectCA(t)
	binary := buildPlugin(t)
	p := &plugin{c, binary, c.kubeconfig, nil}
	if len(replicas) > 0 {
		p.kubelet = c.startReplicas(t, build(t), replicas...)
	}
	return p
}

// buildPlugin builds the plugin of this repository, like make plugin.
func buildPlugin(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "kubectl-evergate")
	must(t, process.BuildPlugin(t.Context(), root, binary))
	return binary
}

// injectCA writes the CA like cert-manager's injector.
func (c *cluster) injectCA(t *testing.T) {
	t.Helper()
	ca, err := pki.NewCA("evergate")
	must(t, err)
	c.eachWebhook(t, func(config *admissionv1.WebhookClientConfig) { config.CABundle = ca.PEM })
}

// run returns the output of a command: stdout, then stderr with "! " before each line, and then the exit code if it is
// not 0.
func (p *plugin) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.binary, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	for line := range strings.Lines(stderr.String()) {
		stdout.WriteString("! " + line)
	}
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		fmt.Fprintf(&stdout, "exit code %d\n", code)
	}
	return stdout.String()
}

var updateTranscripts = flag.Bool("update-plugin", false, "write testdata/plugin.transcript anew")

// steady replaces the parts of the output that differ between runs.
func steady(text string) string {
	for _, r := range []struct{ pattern, by string }{
		{`after [0-9.]+m?s`, "after TIME"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`, "TIME"},
		{`\b\d+[smhd] ago`, "AGO"},
		{`\bin \d+[smhd]\b`, "IN"},
		{`v0\.0\.0-\S+|\(devel\)`, "VERSION"},
		{` +\n`, "\n"},
		{` {2,}`, "  "},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.by)
	}
	return text
}

// TestPlugin changes a policy with the plugin on a real API server, with real replicas behind its port-forward.
func TestPlugin(t *testing.T) {
	t.Parallel()
	p := startPlugin(t, "evergate-a")
	c := p.cluster
	for name, value := range map[string]string{"team": "enabled", "other": "disabled"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{optIn: value}}}
		if _, err := c.admin.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		must(t, createPod(name, pod("web", "quay.io/a/b:1"), metav1.CreateOptions{})(t.Context(), c.admin))
	}
	const file = "testdata/plugin.transcript"
	want, err := os.ReadFile(file)
	must(t, err)
	var got strings.Builder
	for line := range strings.Lines(string(want)) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			name, args, _ := strings.Cut(strings.TrimSpace(command), " ")
			fmt.Fprintf(&got, "$ %s %s\n", name, args)
			if name == "kubectl-evergate" {
				got.WriteString(steady(p.run(t, strings.Fields(args)...)) + "\n")
				continue
			}
			got.WriteString(steady(c.kubectl(t, "", strings.Fields(args)...)) + "\n")
		}
	}
	if *updateTranscripts {
		must(t, os.WriteFile(file, []byte(got.String()), 0o644))
		return
	}
	equal(t, string(want), got.String(), "go test ./kit -run TestPlugin -update-plugin writes it again")
	t.Run("the history is bounded", func(t *testing.T) { p.checkBound(t) })
	t.Run("keys of another client are not merged", func(t *testing.T) { p.checkKeys(t) })
	t.Run("rights", func(t *testing.T) { p.checkRights(t) })
	t.Run("managed", func(t *testing.T) { p.checkManaged(t) })
	t.Run("another manager", func(t *testing.T) { p.checkConflict(t) })
	t.Run("sets", func(t *testing.T) { p.checkSets(t) })
	t.Run("a replica fails to load the policy", func(t *testing.T) { p.checkLoadFailure(t) })
	t.Run("completion", func(t *testing.T) { p.checkCompletion(t) })
	t.Run("preflight", func(t *testing.T) { p.checkPreflight(t) })
}

const (
	pluginPolicy   = "testdata/plugin/policy.yaml"
	pluginStricter = "testdata/plugin/stricter.yaml"
	pluginSets     = "testdata/plugin/sets.yaml"
)

// checkBound applies twelve policies in turn. The ten newest are kept.
func (p *plugin) checkBound(t *testing.T) {
	for i := range 12 {
		file := []string{pluginPolicy, pluginStricter}[i%2]
		if out := p.run(t, "apply", "-f", file, "--no-plan", "--wait=false"); strings.Contains(out, "exit code") {
			t.Fatal(out)
		}
	}
	history := p.run(t, "history")
	list, err := p.admin.CoreV1().ConfigMaps(evergateNamespace).List(t.Context(),
		metav1.ListOptions{LabelSelector: "evergate.dev/revision-of=evergate-policy"})
	must(t, err)
	if n := strings.Count(history, "\n") - 1; n != 10 || len(list.Items) != 10 {
		t.Errorf("%d revisions are listed and %d kept:\n%s", n, len(list.Items), history)
	}
	for _, cm := range list.Items {
		if cm.Immutable == nil || !*cm.Immutable {
			t.Errorf("%s can be changed", cm.Name)
		}
	}
}

// checkKeys replaces a policy in two keys, which kubectl has written, by a policy in one key.
func (p *plugin) checkKeys(t *testing.T) {
	p.cluster.kubectl(t, "", "-n", evergateNamespace, "delete", "configmap", "evergate-policy")
	p.cluster.kubectl(t, "", "-n", evergateNamespace, "create", "configmap", "evergate-policy",
		"--from-file=a.yaml="+pluginPolicy, "--from-file=b.yaml=testdata/plugin/second.yaml", "--from-literal=README=ours")
	if out := p.run(t, "apply", "-f", pluginStricter, "--no-plan", "--wait=false"); strings.Contains(out, "exit code") {
		t.Fatal(out)
	}
	cm, err := p.admin.CoreV1().ConfigMaps(evergateNamespace).Get(t.Context(), "evergate-policy", metav1.GetOptions{})
	must(t, err)
	var keys []string
	for key := range cm.Data {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if want := []string{"README", "policy.yaml"}; !slices.Equal(keys, want) {
		t.Errorf("the ConfigMap has %v, want %v", keys, want)
	}
}

// checkRights checks that apply needs only the permissions of the component's Role. Without patch on Pods, it reports
// that it waits for the kubelet.
func (p *plugin) checkRights(t *testing.T) {
	p.cluster.kubectl(
		t,
		"",
		"apply",
		"-n",
		evergateNamespace,
		"-f",
		filepath.Join(root, "kustomize/components/plugin/rbac.yaml"),
	)
	user := p.userOf(t, "jane", "evergate-plugin")
	out := user.run(t, "apply", "-f", pluginPolicy, "--no-plan", "--timeout", "1m")
	if !strings.Contains(out, "1 of 1: evergate-a has it after") {
		t.Errorf("with the Role of the component:\n%s", out)
	}
	roles := p.admin.RbacV1().Roles(evergateNamespace)
	role, err := roles.Get(t.Context(), "evergate-plugin", metav1.GetOptions{})
	must(t, err)
	less := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "less"}, Rules: role.Rules}
	for i := range less.Rules {
		if slices.Equal(less.Rules[i].Resources, []string{"pods"}) {
			less.Rules[i].Verbs = []string{"get", "list"}
		}
	}
	if _, err := roles.Create(t.Context(), less, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	out = p.userOf(t, "joe", "less").run(t, "apply", "-f", pluginStricter, "--no-plan", "--timeout", "3s")
	for _, want := range []string{
		"you may not patch pods in evergate-system, so kubelet takes up to two minutes to update the policy",
		"is applied, but 3s later some replicas do not have it:", "evergate-a has had ", "exit code 1",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("without the permission to patch Pods, %q is not printed:\n%s", want, out)
		}
	}
	if out := p.run(t, "history"); !strings.Contains(out, " joe ") {
		t.Errorf("the history does not contain joe:\n%s", out)
	}
}

// userOf returns the plugin for a user with a Role.
func (p *plugin) userOf(t *testing.T, name, role string) *plugin {
	t.Helper()
	user, err := p.User(name)
	must(t, err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, user.WriteKubeconfig(file))
	p.cluster.kubectl(t, "", "-n", evergateNamespace, "create", "rolebinding", name, "--role="+role, "--user="+name)
	client := p.as(t, name)
	await(t, "the rights are active", func(ctx context.Context) bool {
		_, err := client.CoreV1().Pods(evergateNamespace).List(ctx, metav1.ListOptions{})
		return err == nil
	})
	return &plugin{p.cluster, p.binary, file, p.kubelet}
}

// checkManaged checks that the plugin does not change a ConfigMap that a controller applies from a repository.
func (p *plugin) checkManaged(t *testing.T) {
	for _, test := range []struct{ verb, mark, want string }{
		{
			"label", "kustomize.toolkit.fluxcd.io/name=policies",
			"managed by Flux (label kustomize.toolkit.fluxcd.io/name)",
		},
		{
			"annotate", "argocd.argoproj.io/tracking-id=policies:/ConfigMap:evergate-system/evergate-policy",
			"managed by Argo CD (annotation argocd.argoproj.io/tracking-id)",
		},
	} {
		p.cluster.kubectl(t, "", "-n", evergateNamespace, test.verb, "configmap", "evergate-policy", test.mark)
		for _, command := range [][]string{{"apply", "-f", pluginPolicy, "--yes"}, {"rollback", "--yes"}} {
			out := p.run(t, command...)
			if !strings.Contains(out, test.want) || !strings.HasSuffix(out, "exit code 1\n") {
				t.Errorf("%v: want %q:\n%s", command, test.want, out)
			}
		}
		key, _, _ := strings.Cut(test.mark, "=")
		p.cluster.kubectl(t, "", "-n", evergateNamespace, test.verb, "configmap", "evergate-policy", key+"-")
	}
}

// checkConflict checks that the plugin takes over a field of another field manager only if the user allows it.
func (p *plugin) checkConflict(t *testing.T) {
	text, err := os.ReadFile(pluginPolicy)
	must(t, err)
	cm := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]string{"policy.yaml": string(text)},
		"metadata": map[string]string{"name": "evergate-policy", "namespace": evergateNamespace},
	}
	manifest, err := json.Marshal(cm)
	must(t, err)
	p.cluster.kubectl(t, string(manifest), "apply", "--server-side", "--force-conflicts", "--field-manager=pipeline",
		"-f", "-")
	apply := []string{"apply", "-f", pluginStricter, "--no-plan", "--wait=false"}
	out := p.run(t, apply...)
	for _, want := range []string{`conflict with "pipeline"`, "to take it over, add --force-conflicts", "exit code 2"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not printed:\n%s", want, out)
		}
	}
	if out := p.run(t, append(apply, "--force-conflicts")...); strings.Contains(out, "exit code") {
		t.Error(out)
	}
}

// checkLoadFailure checks that the wait ends long before the timeout, with the reason, if the files fail to load in a
// replica.
func (p *plugin) checkLoadFailure(t *testing.T) {
	show := func(files map[string][]byte) {
		p.kubelet.mu.Lock()
		defer p.kubelet.mu.Unlock()
		p.kubelet.replicas["evergate-a"].beside = files
	}
	show(map[string][]byte{"zz.yaml": []byte("mirrorz: []\n")})
	defer show(nil)
	out := p.run(t, "apply", "-f", pluginSets, "--no-plan")
	for _, want := range []string{
		"evergate-a cannot load the policy and continues with ", "zz.yaml:1", "mirrorz", "code 1",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not printed:\n%s", want, out)
		}
	}
}

// checkSets checks that the rules in a set apply only to objects in the namespaces that the set's webhook matches.
func (p *plugin) checkSets(t *testing.T) {
	p.cluster.kubectl(t, "", "label", "namespace", "team", "tier=edge")
	p.cluster.kubectl(t, `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: evergate-sets}
webhooks:
- name: edge.pods.validate.evergate.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {service: {name: evergate, namespace: evergate-system, path: /validate/pods/set/edge}}
  namespaceSelector: {matchLabels: {tier: edge}}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
`, "apply", "-f", "-")
	plan := []string{"plan", "--all-namespaces", "-f", pluginSets}
	if out := p.run(t, "apply", "-f", pluginPolicy, "--no-plan", "--wait=false"); strings.Contains(out, "exit code") {
		t.Fatal(out)
	}
	const denied = "Pod team/web (/api/v1/pods:1: item 3): allowed → denied"
	if out := steady(p.run(t, plan...)); !strings.Contains(out, denied) || strings.Contains(out, "Pod other/") {
		t.Errorf("want %q:\n%s", denied, out)
	}
	p.cluster.kubectl(t, "", "label", "namespace", "team", "tier-")
	if out := p.run(t, plan...); strings.Contains(out, "newly denied") {
		t.Errorf("no webhook of the set matches:\n%s", out)
	}
}

// checkCompletion requests completions like kubectl, with the script that kubectl runs.
func (p *plugin) checkCompletion(t *testing.T) {
	for words, want := range map[string]string{
		"explain -n team ":  "web\n:4\n",
		"preflight -o ":     "text\njson\nyaml\n:4\n",
		"rollback nothing ": ":4\n",
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, "cmd/kubectl-evergate/kubectl_complete-evergate"),
			strings.Split(words, " ")...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig,
			"PATH="+filepath.Dir(p.binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
		got, err := cmd.Output()
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", words, got, err, want)
		}
	}
}

// checkPreflight checks that the plugin has the same findings in the cluster as evergate preflight has in the output of
// collect.sh. The exceptions are findings from dry runs.
func (p *plugin) checkPreflight(t *testing.T) {
	collect := exec.CommandContext(t.Context(), filepath.Join(root, "deploy/collect.sh"))
	collect.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig,
		"PATH="+filepath.Dir(p.bin.Kubectl())+string(os.PathListSeparator)+os.Getenv("PATH"))
	dump, err := collect.Output()
	must(t, err)
	preflight := exec.CommandContext(t.Context(), build(t), "preflight", "-f", "-", "-o", "json")
	preflight.Stdin = bytes.NewReader(dump)
	want, err := preflight.Output()
	if len(want) == 0 {
		t.Fatal(err)
	}
	got, _, _ := strings.Cut(p.run(t, "preflight", "-o", "json"), "\n! ")
	got, _, _ = strings.Cut(got, "\nexit code")
	equal(t, findings(t, want), findings(t, []byte(got)), "findings of collect.sh and of the plugin")
}

// findings returns the findings in a report of preflight.
func findings(t *testing.T, report []byte) []string {
	t.Helper()
	var r struct {
		Findings []struct{ ID, Severity, Object, Message string }
	}
	if err := json.Unmarshal(report, &r); err != nil {
		t.Fatalf("%v\n%s", err, report)
	}
	var all []string
	for _, f := range r.Findings {
		if f.ID == "pod-rejected" || f.ID == "call" {
			continue
		}
		all = append(all, fmt.Sprintf("%s %s %s: %s", f.ID, f.Severity, f.Object, f.Message))
	}
	if len(all) == 0 {
		t.Error("there are no findings to compare")
	}
	slices.Sort(all)
	return all
}
