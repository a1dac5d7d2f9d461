package incidents

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/evergate/evergate/e2e/internal/cluster"
	"github.com/evergate/evergate/e2e/internal/metrics"
	"github.com/evergate/evergate/e2e/internal/optin"
)

// Names in the manifests.
const (
	system     = "evergate-system"
	deployment = "deployment/evergate"
)

// The namespaces of the tests.
const (
	team   = "team-a"   // has opted in
	strict = "strict-a" // has opted in, and takes Pods from mirrors only
	plain  = "plain"    // has not opted in
)

// policy is active in most incidents, because a change takes the kubelet a minute to reach the replicas. The revisions
// for control runs load it too, so it only contains fields that they support.
const policy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io}
pods:
- {name: only-mirrors, mode: enforce, match: {namespaces: ["strict-*"]}, images: {from: mirrors}}
- {name: prefer-mirrors, mode: warn, exclude: {namespaces: ["strict-*"]}, images: {from: mirrors}}
ingresses:
- {name: team-hosts, mode: enforce, hosts: {allowed: ["*.apps.example"]}}
- {name: no-snippets, mode: enforce, annotations: {denied: ["*/configuration-snippet"]}}
services:
- {name: no-node-ports, mode: enforce, types: {denied: [NodePort]}}
`

const (
	written  = "docker.io/library/nginx:1"                     // as a user wrote it
	mirrored = "mirror.corp.example/docker.io/library/nginx:1" // as the policy has it rewritten
)

// dryRun runs the whole admission without storing the object.
var dryRun = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// lab is a cluster with the product installed.
type lab struct {
	*cluster.Cluster
	api kubernetes.Interface // as the admin
}

// open returns the lab, or skips the test if there is no cluster.
func open(t *testing.T) *lab {
	t.Helper()
	c := cluster.Open(t)
	l := &lab{c, c.Client(t)}
	version, err := l.api.Discovery().ServerVersion()
	must(t, err)
	book.Describe("Kubernetes", version.GitVersion)
	return l
}

// install installs or resets the product, the policy and the namespaces of the tests. It waits until everything is
// active and nothing of the previous test is left.
func (l *lab) install(t *testing.T, p cluster.Product) {
	t.Helper()
	other := l.setPolicy(t, policy)
	l.Install(t, p)
	if other { // the replicas had another policy
		l.Kubectl(t, "", "-n", system, "rollout", "restart", deployment)
		l.Kubectl(t, "", "-n", system, "rollout", "status", deployment, "--timeout=5m")
	}
	for name, value := range map[string]string{team: "enabled", strict: "enabled", plain: ""} {
		l.namespace(t, name, value)
	}
	l.awaitReplicas(t, 3)
	l.awaitServed(t)
}

// setPolicy makes a policy the only one, and reports whether there may be replicas with another. Its namespace may not
// exist yet.
func (l *lab) setPolicy(t *testing.T, text string) bool {
	t.Helper()
	if _, err := l.api.CoreV1().Namespaces().Get(t.Context(), system, metav1.GetOptions{}); err != nil {
		l.Kubectl(t, "", "create", "namespace", system)
	}
	client, data := l.api.CoreV1().ConfigMaps(system), map[string]string{"policy.yaml": text}
	is, err := client.Get(t.Context(), "evergate-policy", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "evergate-policy"},
			Data: data}, metav1.CreateOptions{})
		must(t, err)
		_, err = l.api.AppsV1().Deployments(system).Get(t.Context(), "evergate", metav1.GetOptions{})
		return err == nil
	}
	must(t, err)
	if maps.Equal(is.Data, data) {
		return false
	}
	is.Data = data
	_, err = client.Update(t.Context(), is, metav1.UpdateOptions{})
	must(t, err)
	return true
}

// tryPolicy applies a policy as users do.
func (l *lab) tryPolicy(ctx context.Context, text string) (out, said string, err error) {
	indented := "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
	return l.TryKubectl(ctx, fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: evergate-policy, namespace: %s}
data:
  policy.yaml: |
%s
`, system, indented), "apply", "-f", "-")
}

// namespace creates a namespace with a value of the opt-in label, or without the label if the value is empty.
func (l *lab) namespace(t *testing.T, name, value string) {
	t.Helper()
	client := l.api.CoreV1().Namespaces()
	_, err := client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	label := "null"
	if value != "" {
		label = strconv.Quote(value)
	}
	patch := fmt.Sprintf(`{"metadata": {"labels": {%q: %s}}}`, optin.Label, label)
	_, err = client.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	must(t, err)
	l.await(t, "the service account of namespace "+name, time.Minute, func(ctx context.Context) error {
		_, err := l.api.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// awaitServed waits until Pods are rewritten and Services are evaluated. The API server notices webhooks by watching
// them, and their CA when cert-manager has injected it.
func (l *lab) awaitServed(t *testing.T) {
	t.Helper()
	l.await(t, "Pods to be rewritten and Services to be validated", 3*time.Minute, func(ctx context.Context) error {
		p, err := l.api.CoreV1().Pods(team).Create(ctx, pod("", written), dryRun)
		if err != nil {
			return err
		}
		if got := p.Spec.Containers[0].Image; got != mirrored {
			return fmt.Errorf("the image is %s", got)
		}
		if err := l.createService(ctx, team, corev1.ServiceTypeNodePort); err == nil {
			return errors.New("a Service of type NodePort is allowed")
		}
		return nil
	})
}

// replicas returns the Pods of the webhook that are not terminating.
func (l *lab) replicas(ctx context.Context) ([]corev1.Pod, error) {
	list, err := l.api.CoreV1().Pods(system).List(ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=webhook"})
	if err != nil {
		return nil, err
	}
	var pods []corev1.Pod
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil {
			pods = append(pods, p)
		}
	}
	return pods, nil
}

// awaitReplicas waits until there are n replicas, all of them Ready, and no other replica is draining.
func (l *lab) awaitReplicas(t *testing.T, n int) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	l.await(t, fmt.Sprintf("%d replicas to be ready, and no others", n), 5*time.Minute, func(ctx context.Context) error {
		var err error
		if pods, err = l.readyReplicas(ctx, n); err != nil {
			return err
		}
		list, err := l.api.CoreV1().Pods(system).List(ctx,
			metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=webhook"})
		if err == nil && len(list.Items) != n {
			err = fmt.Errorf("%d Pods, some of them on their way out", len(list.Items))
		}
		return err
	})
	return pods
}

// readyReplicas returns the replicas, or an error until n are Ready.
func (l *lab) readyReplicas(ctx context.Context, n int) ([]corev1.Pod, error) {
	pods, err := l.replicas(ctx)
	if err != nil {
		return nil, err
	}
	ready := 0
	for _, p := range pods {
		if isReady(&p) {
			ready++
		}
	}
	if len(pods) != n || ready != n {
		return nil, fmt.Errorf("%d replicas, %d of them ready", len(pods), ready)
	}
	return pods, nil
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// count reads the metrics of one replica through the API server.
func (l *lab) count(ctx context.Context, replica string) (metrics.Set, error) {
	return metrics.Read(ctx, l.api.CoreV1().RESTClient(),
		"/api/v1/namespaces/"+system+"/pods/"+replica+":8080/proxy/metrics")
}

// refresh makes the kubelet update the volumes of the replicas now, which it does when anything in a Pod changes. By
// itself, it takes up to a minute and a half.
func (l *lab) refresh(t *testing.T) {
	t.Helper()
	l.Kubectl(t, "", "-n", system, "annotate", "pods", "-l", "app.kubernetes.io/component=webhook", "--overwrite",
		"evergate.e2e/looked-at="+time.Now().Format("150405.000"))
}

// await waits until condition returns nil. After the limit, it fails the test with the last error. Limits are long,
// because they only end tests that hang.
func (l *lab) await(t *testing.T, what string, limit time.Duration, condition func(context.Context) error) {
	t.Helper()
	last := errors.New("not asked yet")
	err := wait.PollUntilContextTimeout(t.Context(), 250*time.Millisecond, limit, true,
		func(ctx context.Context) (bool, error) {
			if err := condition(ctx); err != nil {
				if ctx.Err() == nil {
					last = err
				}
				return false, nil
			}
			return true, nil
		})
	if err != nil {
		t.Fatalf("waiting for %s: %v: %v", what, err, last)
	}
}

// endpointGone waits until the Service no longer sends clients to an address, and returns when that was observed.
func (l *lab) endpointGone(t *testing.T, address string) time.Time {
	t.Helper()
	l.await(t, "the endpoint "+address+" to go", 5*time.Minute, func(ctx context.Context) error {
		slices, err := l.api.DiscoveryV1().EndpointSlices(system).List(ctx,
			metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=evergate"})
		if err != nil {
			return err
		}
		for _, slice := range slices.Items {
			for _, e := range slice.Endpoints {
				if ready := e.Conditions.Ready; (ready == nil || *ready) && e.Addresses[0] == address {
					return errors.New("it is ready")
				}
			}
		}
		return nil
	})
	return time.Now()
}

// undo runs kubectl when the test ends, and ignores missing objects.
func (l *lab) undo(t *testing.T, args ...string) {
	t.Helper()
	t.Cleanup(func() {
		if out, said, err := l.TryKubectl(context.WithoutCancel(t.Context()), "", args...); err != nil {
			t.Errorf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, out, said)
		}
	})
}

// root returns the root directory of the repository.
func (l *lab) root() string { return filepath.Dir(l.Dir) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patched returns the manifests with additional kustomize patches.
func patched(patches ...string) cluster.Product { return cluster.Product{Patches: patches} }

// flag returns a kustomize patch that adds a flag to the product's command line. The last value of a flag applies.
func flag(value string) string {
	return fmt.Sprintf(`- target: {kind: Deployment, name: evergate}
  patch: |-
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: %q}`, value)
}

// pod returns a minimal Pod. Without a name, it gets a generated one.
func pod(name, image string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
	}
	if name == "" {
		p.GenerateName = "x-"
	}
	return p
}

// nowhere prevents a Pod from being scheduled. It exists but never runs.
func nowhere(p *corev1.Pod) *corev1.Pod {
	p.Spec.NodeSelector = map[string]string{"evergate.e2e/nowhere": "true"}
	return p
}

func (l *lab) createService(ctx context.Context, namespace string, kind corev1.ServiceType) error {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"},
		Spec:       corev1.ServiceSpec{Type: kind, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	_, err := l.api.CoreV1().Services(namespace).Create(ctx, svc, dryRun)
	return err
}

func ingress(name, host string) *networkingv1.Ingress {
	i := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: host}}},
	}
	if name == "" {
		i.GenerateName = "x-"
	}
	return i
}
