package kit

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocumentedWorkloads runs the transcript of docs/policy/pods.md, with the policy above it, on a real API server.
// It shows the messages about a Deployment, a CronJob and a custom resource.
func TestDocumentedWorkloads(t *testing.T) {
	t.Parallel()
	const page = "../policy/pods.md"
	entries, shown := block(t, page, "yaml", "name: no-evil"), block(t, page, "console", "$ kubectl ")

	c := start(t)
	c.kubectl(t, "", "apply", "-f", templateCRDs)
	c.kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	binary := build(t)
	c.kubectl(t, "", "apply", "-k", templatesOverlay(t, binary, "fail-closed", ""))
	c.serve(t, binary, policyFile(t, "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"+
		"templates:\n"+rolloutTemplate+entries))
	c.createNamespace(t, "team", map[string]string{optIn: "enabled"})
	await(t, "the webhooks are active", func(context.Context) bool {
		return c.said(t, rollout("awaited", "quay.io/evil/x"), "create", "--dry-run=server", "-f", "-") != "" &&
			c.said(t, "", "create", "deployment", "awaited", "--image=quay.io/evil/x", "--dry-run=server") != "" &&
			c.said(t, "", "create", "cronjob", "awaited", "--image=quay.io/evil/x", "--schedule=@daily",
				"--dry-run=server") != ""
	})
	dir := t.TempDir()
	manifest := []byte(rollout("web", "quay.io/evil/x"))
	must(t, os.WriteFile(filepath.Join(dir, "rollout.yaml"), manifest, 0o600))
	var got strings.Builder
	for line := range strings.Lines(shown) {
		if command, ok := strings.CutPrefix(line, "$ kubectl "); ok {
			got.WriteString(line + c.transcript(t, dir, strings.Fields(command)))
		}
	}
	hash := regexp.MustCompile(`\b[0-9a-f]{12}\]`)
	if diff := cmp.Diff(hash.ReplaceAllString(shown, "HASH]"), hash.ReplaceAllString(got.String(), "HASH]")); diff != "" {
		t.Errorf("docs/policy/pods.md shows something else (-shown +got):\n%s", diff)
	}
}

// transcript runs kubectl in the namespace team and returns the output of a terminal, whether the command fails or not.
func (c *cluster) transcript(t *testing.T, dir string, args []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.bin.Kubectl(), append([]string{"--namespace=team"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HOME="+filepath.Dir(c.kubeconfig))
	cmd.Dir = dir
	var shown bytes.Buffer
	cmd.Stdout, cmd.Stderr = &shown, &shown // one writer keeps the order of both outputs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return shown.String()
}
