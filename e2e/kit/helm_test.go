package kit

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/evergate/evergate/e2e/internal/pki"
	"github.com/evergate/evergate/e2e/internal/tool"
)

const chart = root + "/charts/evergate"

// helm returns the path of helm. It skips the test unless make test-helm runs it, because helm takes minutes to compile.
func helm(t testing.TB) string {
	t.Helper()
	if os.Getenv("EVERGATE_E2E_HELM") == "" {
		t.Skip("run make test-helm, which builds helm")
	}
	return tool.Need(t, "helm")
}

// helm runs helm as the admin, and returns its output. It fails the test if the command fails.
func (c *cluster) helm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.tryHelm(t, args...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (c *cluster) tryHelm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), helm(t), args...)
	home := filepath.Dir(c.kubeconfig)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HOME="+home, "HELM_NAMESPACE=evergate-system")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestHelm installs the chart, lets the injector of cert-manager write caBundle, and upgrades twice by server-side
// apply. No upgrade may conflict or change caBundle. After helm uninstall, the namespace with the policy still exists.
func TestHelm(t *testing.T) {
	t.Parallel()
	helm(t)
	c := start(t)
	out := c.helm(t, "install", "evergate", chart, "--create-namespace", "--set", "replicas=2")
	if want := "does not rewrite or deny anything yet"; !strings.Contains(out, want) {
		t.Errorf("the notes do not contain %q:\n%s", want, out)
	}
	c.kubectl(t, "", "-n", "evergate-system", "create", "configmap", "evergate-policy", "--from-literal=policy.yaml=x")
	injected := c.inject(t)
	if got := c.kubectl(t, "", "get", "validatingwebhookconfiguration", "evergate", "--show-managed-fields", "-o",
		`jsonpath={.metadata.managedFields[?(@.operation=="Apply")].manager}`); got != "helm" {
		t.Errorf("the objects are applied server-side by %q", got)
	}
	first := c.owned(t)
	for _, set := range [][]string{
		{"replicas=3", "failureMode=fail-closed", "components.audit=true", "webhooks.addOns=true"},
		{"replicas=3", "failureMode=fail-closed", "components.matchAllNamespaces=true", "webhooks.gatewayAPI=false"},
	} {
		args := []string{"upgrade", "evergate", chart}
		for _, s := range set {
			args = append(args, "--set", s)
		}
		c.helm(t, args...)
		for name, bundle := range c.bundles(t) {
			if want, before := injected[name]; before && bundle != want || !before && bundle != "" {
				t.Errorf("after %s, caBundle of %s is %q", set, name, bundle)
			}
		}
	}
	if len(c.bundles(t)) != len(injected)-3 {
		t.Errorf("without Gateway API, there are %d webhooks; there were %d", len(c.bundles(t)), len(injected))
	}
	t.Run("the same values change nothing", func(t *testing.T) {
		before := c.owned(t)
		c.helm(t, "upgrade", "evergate", chart, "--reuse-values")
		equal(t, before, c.owned(t))
		if cmp.Equal(first, before) {
			t.Error("the upgrades before did not change anything")
		}
	})
	t.Run("a wrong value is rejected", func(t *testing.T) {
		if out, err := c.tryHelm(t, "upgrade", "evergate", chart, "--set", "components.audits=true"); err == nil ||
			!strings.Contains(out, "audits") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("the autoscaler takes over the replicas", func(t *testing.T) { // as docs/helm.md warns
		c.helm(t, "upgrade", "evergate", chart, "--set", "components.autoscaling=true")
		if got := c.kubectl(t, "", "-n", "evergate-system", "get", "deployment", "evergate", "-o",
			"jsonpath={.spec.replicas}"); got != "1" {
			t.Errorf("%s replicas", got)
		}
	})
	c.helm(t, "uninstall", "evergate")
	if got := c.bundles(t); len(got) != 0 {
		t.Errorf("after uninstall, there are webhooks: %v", got)
	}
	_, err := c.admin.CoreV1().ConfigMaps("evergate-system").Get(t.Context(), "evergate-policy", metav1.GetOptions{})
	if err != nil {
		t.Errorf("after uninstall: %v", err)
	}
	_, err = c.admin.AppsV1().Deployments("evergate-system").Get(t.Context(), "evergate", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("after uninstall, the Deployment: %v", err)
	}
}

// TestHelmNamespace installs the chart in a restricted namespace, which admits the Pod of helm test.
func TestHelmNamespace(t *testing.T) {
	t.Parallel()
	helm(t)
	c := start(t)
	_, err := c.admin.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "platform-admission", Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted",
		}}}, metav1.CreateOptions{})
	must(t, err)
	c.helm(t, "install", "evergate", chart, "--namespace", "platform-admission")
	c.kubectl(t, c.helm(t, "get", "hooks", "evergate", "--namespace", "platform-admission"), "create", "--dry-run=server",
		"-f", "-")
	if got := c.kubectl(t, "", "get", "validatingwebhookconfiguration", "evergate", "-o",
		"jsonpath={.webhooks[0].clientConfig.service.namespace}"); got != "platform-admission" {
		t.Errorf("the webhooks call a Service in %s", got)
	}
}

// TestHelmPreflight checks that evergate preflight understands the output of helm template and does not find a problem.
func TestHelmPreflight(t *testing.T) {
	program, binary := helm(t), build(t)
	manifests, err := exec.CommandContext(t.Context(), program, "template", chart, "--namespace", "evergate-system",
		"--set", "webhooks.pods=false").Output()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), binary, "preflight", "-f", "-")
	cmd.Stdin = bytes.NewReader(manifests)
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("warning ")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// inject writes caBundle to each webhook as cert-manager's injector does: it updates the whole object. It returns the
// values by webhook.
func (c *cluster) inject(t *testing.T) map[string]string {
	t.Helper()
	ca, err := pki.NewCA("injected")
	must(t, err)
	bundle := base64.StdEncoding.EncodeToString(ca.PEM)
	for _, kind := range webhookKinds() {
		var o unstructured.Unstructured
		out := c.kubectl(t, "", "get", kind, "evergate", "-o", "json")
		must(t, json.Unmarshal([]byte(out), &o.Object))
		for _, w := range o.Object["webhooks"].([]any) {
			w.(map[string]any)["clientConfig"].(map[string]any)["caBundle"] = bundle
		}
		data, err := json.Marshal(o.Object)
		must(t, err)
		c.kubectl(t, string(data), "replace", "--field-manager=cert-manager-cainjector", "-f", "-")
	}
	bundles := c.bundles(t)
	for name, got := range bundles {
		if got != bundle {
			t.Fatalf("caBundle of %s is %q", name, got)
		}
	}
	return bundles
}

// bundles returns caBundle of each webhook of Evergate.
func (c *cluster) bundles(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, kind := range webhookKinds() {
		out := c.kubectl(t, "", "get", kind, "--ignore-not-found", "evergate", "-o",
			`jsonpath={range .webhooks[*]}{.name} {.clientConfig.caBundle}{"\n"}{end}`)
		for line := range strings.Lines(out) {
			name, bundle, _ := strings.Cut(strings.TrimSpace(line), " ")
			all[name] = bundle
		}
	}
	return all
}

// owned returns the resource versions of all objects of the release.
func (c *cluster) owned(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, o := range objects(t, []byte(c.helm(t, "get", "manifest", "evergate"))) {
		kind := o.GetKind()
		if gvk := o.GroupVersionKind(); gvk.Group != "" {
			kind += "." + gvk.Version + "." + gvk.Group
		}
		args := []string{"get", kind, o.GetName(), "-o", "jsonpath={.metadata.resourceVersion}"}
		if ns := o.GetNamespace(); ns != "" {
			args = append(args, "-n", ns)
		}
		all[o.GetKind()+"/"+o.GetName()] = c.kubectl(t, "", args...)
	}
	return all
}
