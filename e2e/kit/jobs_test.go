package kit

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestJobs does, on a real API server, what the Jobs of the components do in their Pods: each kubectl with the rights
// of the Job's own account, and then evergate with what that printed. It finds what lies in that cluster, which is an
// error or two, but understands all of it.
func TestJobs(t *testing.T) {
	t.Parallel()
	c := start(t)
	binary := build(t)
	for overlay, want := range map[string]string{
		"examples/overlays/platform":        "judged by policy",
		"examples/overlays/every-namespace": "none of its endpoints is ready",
	} {
		c.kubectl(t, "", "apply", "-k", filepath.Join(root, overlay))
		namespace, spec := job(t, read(t).render(t, overlay))
		dump := t.TempDir()
		for _, init := range spec.InitContainers {
			c.collect(t, init, namespace, spec.ServiceAccountName, dump)
		}
		if got := runJob(t, binary, spec.Containers[0], dump); !strings.Contains(got, want) {
			t.Errorf("%s says nothing of %q:\n%s", overlay, want, got)
		}
	}
}

// job returns what the one Job, or CronJob, of an overlay runs, and where.
func job(t *testing.T, manifests []byte) (namespace string, spec corev1.PodSpec) {
	t.Helper()
	decoder := strict(t)
	for _, doc := range documents(t, manifests) {
		object, _, err := decoder.Decode(doc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch o := object.(type) {
		case *batchv1.CronJob:
			return o.Namespace, o.Spec.JobTemplate.Spec.Template.Spec
		case *batchv1.Job:
			return o.Namespace, o.Spec.Template.Spec
		}
	}
	t.Fatal("there is no Job")
	return "", corev1.PodSpec{}
}

// collect runs the kubectl of a container as a service account, into the file that go-runner would write.
func (c *cluster) collect(t *testing.T, container corev1.Container, namespace, account, dump string) {
	t.Helper()
	var file string
	for _, word := range container.Command {
		if name, ok := strings.CutPrefix(word, "--log-file=/dump/"); ok {
			file = name
		}
	}
	if file == "" || container.Args[0] != "/bin/kubectl" {
		t.Fatalf("%s runs %q %q", container.Name, container.Command, container.Args)
	}
	out := c.kubectl(t, "", slices.Concat(container.Args[1:], []string{
		"--namespace=" + namespace, // as kubectl in a Pod has it
		"--as=system:serviceaccount:" + namespace + ":" + account,
		"--as-group=system:serviceaccounts", "--as-group=system:authenticated",
	})...)
	if err := os.WriteFile(filepath.Join(dump, file), []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runJob runs evergate as a container does, but for the Service, which leads nowhere here. It may find something.
func runJob(t *testing.T, binary string, container corev1.Container, dump string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(servedPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, arg := range container.Args {
		arg = strings.Replace(arg, "/dump/", dump+"/", 1)
		if arg != "--connect" {
			args = append(args, strings.Replace(arg, "/etc/evergate/policy", file, 1))
		}
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = []string{} // of this test it needs nothing, and would warn of EVERGATE_E2E_…
	for _, v := range container.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if said.Len() > 0 || err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: it has found something
		t.Errorf("evergate %q: %v\n%s", args, err, &said)
	}
	return string(out)
}
