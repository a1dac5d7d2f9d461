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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestBreakGlass runs the commands of the page on an API server that rejects writes, and checks that writes succeed
// afterwards.
func TestBreakGlass(t *testing.T) {
	t.Parallel()
	c := start(t)
	overlay := filepath.Join(root, "kustomize/overlays/fail-closed")
	c.createUsers(t)
	c.createNamespace(t, "team-a", map[string]string{optIn: "enabled"})
	writesFail := func(want bool) {
		t.Helper()
		await(t, "writes are rejected, or are no longer rejected", func(ctx context.Context) bool {
			return (createPod("team-a", pod("", mirrored), dryRun)(ctx, c.admin) != nil) == want &&
				(createService("team-a", dryRun)(ctx, c.admin) != nil) == want &&
				(createIngress("team-a", dryRun)(ctx, c.admin) != nil) == want
		})
	}
	apply := func(flags ...string) {
		t.Helper()
		c.kubectl(t, "", append([]string{"apply", "-k", overlay}, flags...)...)
		c.kubectl(t, "", "delete", "service", "-n", "evergate-system", "evergate") // a call fails immediately
		writesFail(true)
	}

	t.Run("failing open", func(t *testing.T) {
		apply()
		before := c.validatingWebhooks(t)
		c.shell(t, "break-glass.md", "kubectl patch validatingwebhookconfiguration")
		writesFail(false)
		if got := c.shell(t, "break-glass.md", "{.failurePolicy}"); strings.Count(got, "Ignore\n") != 14 ||
			strings.Contains(got, "Fail") {
			t.Errorf("the page lists\n%s", got)
		}
		after := c.validatingWebhooks(t)
		for i := range before {
			before[i].FailurePolicy = after[i].FailurePolicy
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the patch changes more (-before +after):\n%s", diff)
		}
		apply()
		c.shell(t, "break-glass.md", "kubectl patch validatingwebhookconfiguration")
		apply("--server-side", "--force-conflicts")
	})
	t.Run("one namespace", func(t *testing.T) {
		c.shell(t, "break-glass.md", "kubectl label namespace")
		writesFail(false)
		c.kubectl(t, "", "label", "namespace", "team-a", optIn+"=enabled")
		writesFail(true)
	})
	t.Run("all of it", func(t *testing.T) {
		c.shell(t, "break-glass.md", "kubectl delete mutatingwebhookconfiguration")
		writesFail(false)
	})
}

// validatingWebhooks returns the validating webhooks.
func (c *cluster) validatingWebhooks(t *testing.T) []admissionv1.ValidatingWebhook {
	t.Helper()
	config, err := c.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "evergate",
		metav1.GetOptions{})
	must(t, err)
	return config.Webhooks
}

// block returns the only block of a runbook in a language that contains a text.
func block(t *testing.T, page, language, text string) string {
	t.Helper()
	var found []string
	blocks := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllSubmatch(
		readFile(t, filepath.Join(runbooks, page)), -1)
	for _, match := range blocks {
		if strings.Contains(string(match[1]), text) {
			found = append(found, string(match[1]))
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %d blocks of %s with %q", page, len(found), language, text)
	}
	return found[0]
}

// shell runs the only block of a runbook that contains a text, with kubectl for the cluster, and returns its output.
func (c *cluster) shell(t *testing.T, page, text string) string {
	t.Helper()
	return c.bash(t, block(t, page, "sh", text))
}

// bash runs commands with kubectl for the cluster, and returns their output.
func (c *cluster) bash(t *testing.T, commands string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", commands)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HOME="+filepath.Dir(c.kubeconfig),
		"PATH="+filepath.Dir(c.bin.Kubectl())+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, commands, out)
	}
	return string(out)
}
