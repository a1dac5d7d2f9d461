package kit

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	// lowLimits rejects containers with a higher memory limit than 256Mi: the base sets 512Mi.
	lowLimits = `apiVersion: v1
kind: LimitRange
metadata: {name: low, namespace: evergate-system}
spec: {limits: [{type: Container, max: {memory: 256Mi}, default: {memory: 128Mi}, defaultRequest: {memory: 64Mi}}]}
`
	// readers may list the objects that preflight reads, but do not have the permissions for a dry run.
	readers = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: readers}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: readers}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: joe}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: nothing, namespace: evergate-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: creators, namespace: evergate-system}
rules: [{apiGroups: [""], resources: [pods], verbs: [create]}]
`
)

// TestDryRun checks that the plugin makes a dry run of a Pod of the Deployment on a real API server, as the account of
// the ReplicaSet controller if it may, and reports why the Pod is rejected.
func TestDryRun(t *testing.T) {
	t.Parallel()
	p := startPlugin(t)
	const (
		leftOut  = "left out: a dry run of a Pod"
		rejected = "pod-rejected  Deployment evergate-system/evergate ("
		reason   = "maximum memory usage per Container is 256Mi, but limit is 512Mi"
	)
	if out := p.run(t, "preflight"); strings.Contains(out, "pod-rejected") || strings.Contains(out, leftOut) {
		t.Errorf("the Pod of the base:\n%s", out)
	}
	p.cluster.kubectl(t, lowLimits+"---\n"+readers, "apply", "-f", "-")
	var out string
	await(t, "the Pod is rejected", func(context.Context) bool {
		out = p.run(t, "preflight")
		return strings.Contains(out, "error    "+rejected)
	})
	if !strings.Contains(out, reason) || strings.Contains(out, leftOut) {
		t.Errorf("want %q:\n%s", reason, out)
	}
	pods := p.cluster.kubectl(t, "", "-n", evergateNamespace, "get", "pods", "-o", "name")
	if strings.TrimSpace(pods) != "" {
		t.Errorf("the dry run has created %s", pods)
	}

	joe := p.userOf(t, "joe", "nothing")
	const missing = leftOut + " of Deployment evergate-system/evergate: you may neither create pods in " +
		"evergate-system nor impersonate the serviceaccount kube-system/replicaset-controller\n"
	out = joe.run(t, "preflight")
	if !strings.Contains(out, missing) || strings.Contains(out, "pod-rejected") {
		t.Errorf("without the right to create Pods, want %q:\n%s", missing, out)
	}
	p.cluster.kubectl(t, "", "-n", evergateNamespace, "create", "rolebinding", "creators", "--role=creators", "--user=joe")
	await(t, "joe may create Pods", func(context.Context) bool {
		out = joe.run(t, "preflight")
		return !strings.Contains(out, leftOut)
	})
	if !strings.Contains(out, "warning  "+rejected) || !strings.Contains(out, reason) {
		t.Errorf("as a user who may create Pods, want a warning with %q:\n%s", reason, out)
	}
}

// TestPod checks the commands of docs/preflight.md, which create the Pod of manifests as a dry run.
func TestPod(t *testing.T) {
	t.Parallel()
	c := start(t)
	manifests := c.kubectl(t, "", "kustomize", filepath.Join(root, "kustomize/overlays/fail-closed"))
	printing := exec.CommandContext(t.Context(), build(t), "preflight", "--pod", "-f", "-")
	printing.Stdin = strings.NewReader(manifests)
	pod, err := printing.Output()
	must(t, err)
	c.kubectl(t, "", "create", "namespace", evergateNamespace)
	c.kubectl(t, "", "-n", evergateNamespace, "create", "serviceaccount", "evergate")
	create := []string{
		"create", "--dry-run=server", "--as=system:serviceaccount:kube-system:replicaset-controller", "-f", "-",
	}
	if out := c.kubectl(t, string(pod), create...); !strings.Contains(out, "created (server dry run)") {
		t.Error(out)
	}
	c.kubectl(t, lowLimits, "apply", "-f", "-")
	await(t, "the Pod is rejected", func(ctx context.Context) bool {
		cmd := exec.CommandContext(ctx, c.bin.Kubectl(), create...)
		cmd.Env, cmd.Stdin = append(os.Environ(), "KUBECONFIG="+c.kubeconfig), bytes.NewReader(pod)
		out, err := cmd.CombinedOutput()
		return err != nil && strings.Contains(string(out), "maximum memory usage per Container is 256Mi")
	})
}

// TestHello checks that a dry run of the plugin calls each webhook through a real API server, except the one for the
// status of Services.
func TestHello(t *testing.T) {
	t.Parallel()
	p := startPlugin(t)
	p.serve(t, build(t), policyFile(t, servedPolicy))
	p.cluster.kubectl(t, "", "create", "namespace", "team")
	p.cluster.kubectl(t, "", "label", "namespace", "team", "evergate.dev/admission=enabled")
	var out string
	await(t, "the webhooks answer", func(context.Context) bool {
		out = p.run(t, "preflight")
		return !strings.Contains(out, "does not answer")
	})
	const status = "call  ValidatingWebhookConfiguration evergate, webhook loadbalancerstatus.validate.evergate.dev"
	for line := range strings.Lines(out) {
		if strings.Contains(line, "  call  ") && !strings.Contains(line, status) {
			t.Errorf("%s in\n%s", line, out)
		}
	}
}
