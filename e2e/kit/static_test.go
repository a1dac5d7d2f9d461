package kit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// TestStatic starts an API server with the files from evergate export --target static. It must rewrite and deny Pods.
// Only the exempt group may remove the enforcement, and kubectl evergate status must report the policy of the files.
func TestStatic(t *testing.T) {
	t.Parallel()
	needs(t, staticVersion)
	binary, path := build(t), policyFile(t, exportedPolicy)
	manifests := exported(t, binary, path, "--target", "static")
	c := start(t, "--admission-control-config-file="+admissionFiles(t, manifests))
	c.createNamespace(t, evergateNamespace, nil)
	c.createNamespace(t, "other", map[string]string{optIn: "enabled"})
	await(t, "the label to be seen", func(ctx context.Context) bool {
		_, err := c.admin.CoreV1().Pods("other").Create(ctx, restricted(pod("p", "evil.example/x:1")), dryRun)
		return err != nil && strings.Contains(err.Error(), "evergate-pods-enforce.static.k8s.io")
	})
	p, err := c.admin.CoreV1().Pods("other").Create(t.Context(), restricted(pod("p", "nginx:1")), dryRun)
	if err != nil || p.Spec.Containers[0].Image != "mirror.corp.example/docker.io/library/nginx:1" {
		t.Errorf("a Pod is not rewritten: %v, %v", p.Spec.Containers, err)
	}
	c.installOther(t)
	c.checkProtected(t)
	status := &plugin{c, buildPlugin(t), c.kubeconfig, nil}
	hash := regexp.MustCompile(`policy-hash: (\w+)`).FindStringSubmatch(manifests)[1]
	want := "\nFiles of the API server: exported from policy " + hash + "\n"
	if out := status.run(t, "status"); !strings.Contains(out, want) {
		t.Error(out)
	}
	want = ", and the API server's files were exported from " + hash + "\n"
	if out := status.run(t, "preflight"); !strings.Contains(out, want) {
		t.Error(out)
	}
	status.checkPreflight(t)
}

// installOther creates webhooks and a Deployment of Evergate without Pods, with another policy than the files.
func (c *cluster) installOther(t *testing.T) {
	t.Helper()
	for _, o := range objects(t, read(t).render(t, "kustomize/overlays/fail-open")) {
		if !slices.Contains([]string{"Deployment", "ValidatingWebhookConfiguration"}, o.GetKind()) {
			continue
		}
		data, err := yaml.Marshal(o.Object)
		must(t, err)
		c.kubectl(t, string(data), "create", "-f", "-")
	}
	c.kubectl(t, "", "-n", evergateNamespace, "create", "configmap", "evergate-policy", "--from-file="+pluginPolicy)
}

// checkProtected deletes the objects that enforce the policy, as dry runs. Only the privileged group may do this.
func (c *cluster) checkProtected(t *testing.T) {
	t.Helper()
	none := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	may := c.as(t, "jane", "system:masters", "evergate:break-glass")
	for what, remove := range map[string]func(kubernetes.Interface) error{
		"the namespace": func(api kubernetes.Interface) error {
			return api.CoreV1().Namespaces().Delete(t.Context(), evergateNamespace, none)
		},
		"the webhooks": func(api kubernetes.Interface) error {
			return api.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "evergate", none)
		},
		"all webhooks": func(api kubernetes.Interface) error {
			return api.AdmissionregistrationV1().ValidatingWebhookConfigurations().DeleteCollection(t.Context(), none,
				metav1.ListOptions{})
		},
	} {
		if err := remove(c.admin); err == nil || !strings.Contains(err.Error(), "evergate-protect.static.k8s.io") {
			t.Errorf("%s may be deleted: %v", what, err)
		}
		if err := remove(may); err != nil {
			t.Errorf("%s, by the group that may: %v", what, err)
		}
	}
}

// admissionFiles writes manifests to the directories in the comments above them. It returns the API server's
// configuration, which is in the first comment.
func admissionFiles(t *testing.T, manifests string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)))
		return file
	}
	lines := strings.Split(manifests, "\n")
	last := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, "/mutating") })
	var configuration strings.Builder
	for _, line := range lines[1 : last+1] {
		configuration.WriteString(strings.ReplaceAll(line, "/etc/kubernetes/admission", dir)[2:] + "\n")
	}
	for i, doc := range strings.Split(manifests, "\n---\n") {
		plugin := regexp.MustCompile(`staticManifestsDir directory of the (\w+) plugin\n`).FindStringSubmatch(doc)
		if plugin == nil {
			t.Fatalf("no comment names the directory of this file:\n%s", doc)
		}
		write(fmt.Sprintf("%s/%d.yaml", plugin[1], i), doc)
	}
	return write("configuration.yaml", configuration.String())
}
