package incidents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evergate/evergate/e2e/internal/cluster"
	"github.com/evergate/evergate/e2e/internal/optin"
	"github.com/evergate/evergate/e2e/internal/process"
)

// I5: a webhook that fails open skips its checks without an error. And a user who may label a namespace can exclude it
// from all checks.

func TestI5(t *testing.T) {
	t.Run("audit", func(t *testing.T) {
		rules := policy
		try(t, incident{
			id: "I5", what: "a Pod is created while every replica is frozen, failurePolicy Ignore",
			guard:   "the audit of existing objects",
			happen:  func(t *testing.T, l *lab, _ bool) outcome { return slipIn(t, l, rules) },
			lacking: "a policy without the rule for Pods",
			without: func(*testing.T, *lab) {
				rules = strings.NewReplacer("- {name: only-mirrors,", "- {name: only-mirrors, mode: \"off\",",
					"mode: enforce, match:", "match:").Replace(policy)
			},
		})
	})
	t.Run("validation", func(t *testing.T) {
		missed := []string{notRewritten}
		try(t, incident{
			id: "I5", what: "a Pod misses the call that would rewrite it", guard: "validation of the final object",
			happen:  func(t *testing.T, l *lab, _ bool) outcome { return missRewriting(t, l, missed) },
			lacking: "no validation",
			without: func(*testing.T, *lab) { missed = append(missed, notValidated) },
		})
	})
	for _, test := range []struct {
		name, what string
		overlay    string
		dead       bool
	}{
		{"label", "a tenant opts a namespace out", "fail-open", false},
		{"label, all dead", "a tenant opts a namespace out while no replica is left", "fail-closed", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			try(t, incident{
				id: "I5", what: test.what, guard: "the guard of the opt-in label",
				product: cluster.Product{Overlay: test.overlay},
				happen:  func(t *testing.T, l *lab, _ bool) outcome { return takeOut(t, l, test.dead) },
				lacking: "no guard",
				without: func(t *testing.T, l *lab) {
					l.Kubectl(t, "", "delete", "validatingadmissionpolicybinding", "evergate-opt-in")
				},
			})
		})
	}
}

const (
	// notRewritten breaks only the mutating calls, by changing their path to one that is not served.
	notRewritten = `- target: {kind: MutatingWebhookConfiguration, name: evergate}
  patch: |-
    - {op: replace, path: /webhooks/0/clientConfig/service/path, value: /nowhere}
    - {op: replace, path: /webhooks/1/clientConfig/service/path, value: /nowhere}`
	notValidated = `- target: {kind: ValidatingWebhookConfiguration, name: evergate}
  patch: |-
    - {op: replace, path: /webhooks/0/clientConfig/service/path, value: /nowhere}`
)

// slipIn creates a Pod while no replica can respond, and then finds it with an audit.
func slipIn(t *testing.T, l *lab, rules string) outcome {
	replicas := l.awaitReplicas(t, 3)
	l.undo(t, "-n", strict, "delete", "pods", "--all", "--force", "--grace-period=0")
	for i := range replicas {
		l.Signal(t, &replicas[i], syscall.SIGSTOP)
	}
	p, err := l.api.CoreV1().Pods(strict).Create(t.Context(), nowhere(pod("slipped-in", written)), metav1.CreateOptions{})
	for i := range replicas {
		l.Signal(t, &replicas[i], syscall.SIGCONT)
	}
	must(t, err)
	if p.Spec.Containers[0].Image != written {
		t.Fatal("the Pod was rewritten: nothing slipped in")
	}
	var o outcome
	dump := l.Kubectl(t, "", "get", "pods,ingresses,services", "--all-namespaces", "--output=json")
	report, code := l.audit(t, rules, dump)
	o.figure("exit code of evergate review --as-existing", "%d", code)
	if line := lineWith(report, "slipped-in"); line != "" {
		o.figure("output", "%s", line)
	}
	if code != 1 || !strings.Contains(report, "slipped-in") {
		o.breaks("the audit does not find the Pod: %s", report)
	}
	return o
}

// audit evaluates the objects of the cluster, from the output of kubectl.
func (l *lab) audit(t *testing.T, rules, dump string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	binary, file, objects := filepath.Join(dir, "evergate"), filepath.Join(dir, "policy.yaml"), filepath.Join(dir,
		"cluster.json")
	must(t, process.Build(t.Context(), l.root(), binary, nil))
	must(t, os.WriteFile(file, []byte(rules), 0o600))
	must(t, os.WriteFile(objects, []byte(dump), 0o600))
	out, err := exec.CommandContext(t.Context(), binary, "review", "--as-existing", "--policy="+file,
		"--filename="+objects).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), failed.ExitCode()
	}
	must(t, err)
	return string(out), 0
}

func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// missRewriting creates a Pod while the mutating calls fail. The validating webhook denies the Pod with a clear
// message.
func missRewriting(t *testing.T, l *lab, patches []string) outcome {
	l.Install(t, cluster.Product{Patches: patches})
	l.await(t, "Pods to be admitted as they are written", time.Minute, func(ctx context.Context) error {
		p, err := l.api.CoreV1().Pods(team).Create(ctx, pod("", written), dryRun)
		if err == nil && p.Spec.Containers[0].Image != written {
			err = errors.New("the image is " + p.Spec.Containers[0].Image)
		}
		return err
	})
	var o outcome
	_, err := l.api.CoreV1().Pods(strict).Create(t.Context(), pod("", written), dryRun)
	const want = "denied the request: only-mirrors/images.from: spec.containers[0].image: "
	if err == nil || !strings.Contains(err.Error(), want) {
		o.breaks("got %v, want %s", err, want)
		return o
	}
	o.figure("denied", "%v", err)
	return o
}

// takeOut tries every way to write the opt-in label, first as a tenant with all permissions that a Role can grant in
// the namespace, and then as a user with the permission.
func takeOut(t *testing.T, l *lab, dead bool) outcome {
	const name = "tenants"
	l.undo(t, "delete", "namespace", name, "--ignore-not-found")
	l.undo(t, "delete", "clusterrole,clusterrolebinding", "-l", "evergate.e2e/of=tenants")
	l.namespace(t, name, "enabled")
	l.Kubectl(t, tenants, "apply", "-f", "-")
	if dead {
		l.scaleToZero(t)
	}
	tenant := l.as(t, "tenant")
	l.await(t, "the rights of the tenant", time.Minute, func(ctx context.Context) error {
		_, err := tenant.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		return err
	})
	var o outcome
	denied, tried := 0, 0
	attempt := func(what string, do func() error) {
		tried++
		if err := do(); err == nil {
			o.breaks("%s: the tenant may", what)
		} else if !strings.Contains(err.Error(), "evergate-opt-in") {
			t.Errorf("%s: denied by another check: %v", what, err)
		} else {
			denied++
		}
		l.relabel(t, name) // for the next attempt
	}
	for _, r := range optin.Routes() {
		for _, value := range []string{"disabled", ""} {
			attempt(fmt.Sprintf("%s to %q", r.Name, value), func() error {
				return r.Write(t.Context(), tenant, l.labelled(t, name, value))
			})
		}
	}
	attempt("server-side apply", func() error { return optin.Apply(t.Context(), tenant, name, "disabled") })
	o.figure("denied attempts of a tenant", "%d of %d", denied, tried)
	manager := l.as(t, "manager")
	if err := optin.Routes()[0].Write(t.Context(), manager, l.labelled(t, name, "")); err != nil {
		o.breaks("a user with the verb opt-in may not: %v", err)
	} else {
		o.figure("a user with the verb opt-in", "may")
	}
	return o
}

// tenants contains the RBAC objects of the users.
const tenants = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: evergate-e2e-everything, labels: {evergate.e2e/of: tenants}}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tenant, namespace: tenants}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: evergate-e2e-everything}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: tenant}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: evergate-e2e-namespaces, labels: {evergate.e2e/of: tenants}}
rules: [{apiGroups: [""], resources: [namespaces], verbs: [get, update, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: evergate-e2e-manager-namespaces, labels: {evergate.e2e/of: tenants}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: evergate-e2e-namespaces}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: manager}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: evergate-e2e-manager-opt-in, labels: {evergate.e2e/of: tenants}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: evergate-opt-in}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: manager}]
`

// as returns a client of another user.
func (l *lab) as(t *testing.T, user string, groups ...string) kubernetes.Interface {
	t.Helper()
	api, err := kubernetes.NewForConfig(l.User(user, groups...))
	must(t, err)
	return api
}

// labelled returns a namespace with another value of the opt-in label, or without the label if the value is empty.
func (l *lab) labelled(t *testing.T, name, value string) *corev1.Namespace {
	t.Helper()
	ns, err := l.api.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	if ns.Labels[optin.Label] = value; value == "" {
		delete(ns.Labels, optin.Label)
	}
	return ns
}

// relabel makes a namespace opt in again.
func (l *lab) relabel(t *testing.T, name string) {
	t.Helper()
	l.Kubectl(t, "", "label", "namespace", name, optin.Label+"=enabled", "--overwrite")
}
