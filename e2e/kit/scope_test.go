package kit

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The webhooks, as the API server counts them.
const (
	mutate   = "pods.mutate.evergate.dev"
	again    = "again.pods.mutate.evergate.dev"
	pods     = "pods.validate.evergate.dev"
	ingress  = "ingresses.validate.evergate.dev"
	services = "services.validate.evergate.dev"
	routes   = "routes.validate.evergate.dev"
	gateways = "gateways.validate.evergate.dev"
	balancer = "loadbalancerstatus.validate.evergate.dev"
	policy   = "policy.validate.evergate.dev"

	workloads    = "workloads.validate.evergate.dev"
	cronJobs     = "cronjobs.validate.evergate.dev"
	podTemplates = "podtemplates.validate.evergate.dev"
)

const (
	mirrored = "mirror.corp.example/docker.io/library/nginx:1"
	foreign  = "docker.io/library/nginx:1"
)

// request is one write, and the webhooks that it must reach exactly once.
type request struct {
	name string
	do   func(context.Context, kubernetes.Interface) error
	want []string
}

// TestScope makes writes of all kinds and reads from the API server's metrics which webhooks it tried to call. No
// process serves the webhooks, and all of them fail open, so every write succeeds and each attempted call is counted.
// Every condition must be evaluated without an error, whatever fields an object lacks.
func TestScope(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.kubectl(t, "", "label", "namespace", "kube-system", optIn+"=enabled") // must not have an effect
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-open"))
	// Without the Service, a call fails immediately instead of after its timeout.
	c.kubectl(t, "", "delete", "service", "-n", "evergate-system", "evergate")
	for _, name := range []string{"kube-public", "kube-node-lease", "evergate-system"} {
		c.kubectl(t, "", "label", "namespace", name, optIn+"=enabled") // must not have an effect
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	if _, err := c.admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"cert-manager": "enabled", "team": "enabled", "out": "disabled",
		"plain": ""} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{optIn: value}}}
		if value == "" {
			ns.Labels = nil
		}
		if _, err := c.admin.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.awaitWebhooks(t, "team")
	c.checkRequests(t, slices.Concat(podRequests(), namespaceRequests(), ingressRequests(),
		serviceRequests(), statusRequests(), otherRequests()))
	t.Run("by a node", func(t *testing.T) { testNode(t, c) })
}

// awaitWebhooks waits until all webhooks are called, and the webhooks for Pods, Ingresses and Services for a namespace.
func (c *cluster) awaitWebhooks(t *testing.T, namespace string) {
	t.Helper()
	// One webhook is not called for the dry run of a creation, so it needs an object.
	must(t, createLoadBalancer(namespace, "awaited")(t.Context(), c.admin))
	await(t, "the webhooks are active", func(ctx context.Context) bool {
		before := c.calls(t)
		for _, write := range []write{
			createPod(namespace, pod("", foreign), dryRun), createConfigMap("evergate-system", "evergate-policy", dryRun),
			createIngress(namespace, dryRun), createService(namespace, dryRun),
			patchStatus(namespace, "awaited", `{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}}`, dryRunPatch),
		} {
			must(t, write(ctx, c.admin))
		}
		return len(difference(before, c.calls(t))) == 7
	})
}

// checkRequests makes each request, and checks which webhooks the API server tried to call.
func (c *cluster) checkRequests(t *testing.T, requests []request) {
	t.Helper()
	before := c.calls(t)
	for _, r := range requests {
		if err := r.do(t.Context(), c.admin); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		want := map[string]int{}
		for _, name := range r.want {
			want[name] = 1
		}
		after := c.calls(t)
		if diff := cmp.Diff(want, difference(before, after)); diff != "" {
			t.Errorf("%s: webhooks called (-want +got):\n%s", r.name, diff)
		}
		before = after
	}
	if errs := c.counter(t, "apiserver_admission_match_condition_evaluation_errors_total"); len(errs) > 0 {
		t.Errorf("conditions that could not be evaluated: %v", errs)
	}
}

// calls returns how many calls of each webhook have failed open since the start.
func (c *cluster) calls(t *testing.T) map[string]int {
	t.Helper()
	return c.counter(t, "apiserver_admission_webhook_fail_open_count")
}

// counter returns the series of an API server counter that have a label name, by that label.
func (c *cluster) counter(t *testing.T, metric string) map[string]int {
	t.Helper()
	// Before Kubernetes 1.37, the API server ignores the name and returns all its metrics, which are megabytes.
	text, err := c.admin.CoreV1().RESTClient().Get().AbsPath("/metrics").Param("name[]", metric).DoRaw(t.Context())
	must(t, err)
	labels := regexp.MustCompile(`^\{.*name="([^"]+)".*\} (\d+)\n`)
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) { // megabytes are too much for a regular expression
		rest, ok := strings.CutPrefix(line, metric)
		if !ok {
			continue
		}
		if m := labels.FindStringSubmatch(rest); m != nil {
			n, err := strconv.Atoi(m[2])
			must(t, err)
			counts[m[1]] += n
		}
	}
	return counts
}

func difference(before, after map[string]int) map[string]int {
	diff := map[string]int{}
	for name, n := range after {
		if n > before[name] {
			diff[name] = n - before[name]
		}
	}
	return diff
}

// pod returns a minimal Pod: no labels, no annotations, no optional fields.
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

// restricted makes a Pod pass the strictest Pod Security level, which Evergate's namespace has.
func restricted(p *corev1.Pod) *corev1.Pod {
	yes, no := true, false
	p.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	for i := range p.Spec.Containers {
		p.Spec.Containers[i].SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	return p
}

type write = func(context.Context, kubernetes.Interface) error

func createPod(namespace string, p *corev1.Pod, o metav1.CreateOptions) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		_, err := api.CoreV1().Pods(namespace).Create(ctx, restricted(p.DeepCopy()), o)
		return err
	}
}

func createConfigMap(namespace, name string, o metav1.CreateOptions) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := api.CoreV1().ConfigMaps(namespace).Create(ctx, cm, o)
		return err
	}
}

func createIngress(namespace string, o metav1.CreateOptions) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		ing := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Name: "i"},
			Spec:       networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "a.example"}}},
		}
		_, err := api.NetworkingV1().Ingresses(namespace).Create(ctx, ing, o)
		return err
	}
}

func createService(namespace string, o metav1.CreateOptions) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		svc := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "s"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
		_, err := api.CoreV1().Services(namespace).Create(ctx, svc, o)
		return err
	}
}

// changePod changes the Pod p in the namespace team, through the object or one of its subresources.
func changePod(subresource string, change func(*corev1.Pod)) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		client := api.CoreV1().Pods("team")
		p, err := client.Get(ctx, "p", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(p)
		switch subresource {
		case "":
			_, err = client.Update(ctx, p, metav1.UpdateOptions{})
		case "status":
			_, err = client.UpdateStatus(ctx, p, metav1.UpdateOptions{})
		case "resize":
			_, err = client.UpdateResize(ctx, p.Name, p, metav1.UpdateOptions{})
		case "ephemeralcontainers":
			_, err = client.UpdateEphemeralContainers(ctx, p.Name, p, metav1.UpdateOptions{})
		default:
			err = fmt.Errorf("unknown subresource %s", subresource)
		}
		return err
	}
}

func changeIngress(status bool, change func(*networkingv1.Ingress)) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		client := api.NetworkingV1().Ingresses("team")
		ing, err := client.Get(ctx, "i", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(ing)
		if status {
			_, err = client.UpdateStatus(ctx, ing, metav1.UpdateOptions{})
		} else {
			_, err = client.Update(ctx, ing, metav1.UpdateOptions{})
		}
		return err
	}
}

// changeService changes the Service s in the namespace team, through the object or its status.
func changeService(status bool, change func(*corev1.Service)) write {
	return updateService("s", status, change)
}

func updateService(name string, status bool, change func(*corev1.Service)) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		client := api.CoreV1().Services("team")
		svc, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(svc)
		if status {
			_, err = client.UpdateStatus(ctx, svc, metav1.UpdateOptions{})
		} else {
			_, err = client.Update(ctx, svc, metav1.UpdateOptions{})
		}
		return err
	}
}

func changePolicy(change func(*corev1.ConfigMap)) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		client := api.CoreV1().ConfigMaps("evergate-system")
		cm, err := client.Get(ctx, "evergate-policy", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(cm)
		_, err = client.Update(ctx, cm, metav1.UpdateOptions{})
		return err
	}
}
