package kit

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/pki"
	"github.com/evergate/evergate/e2e/internal/process"
)

// product is the binary of this repository, which all tests share. The first test that needs it builds it.
var product struct {
	once sync.Once
	path string
	err  error
}

// copied is the control plane that start copies. The first test that needs it starts it.
var copied struct {
	once  sync.Once
	dir   string
	ready bool
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "evergate-kit-")
	if err != nil {
		panic(err)
	}
	product.path, copied.dir = filepath.Join(dir, "evergate"), filepath.Join(dir, "control-plane")
	if err := os.Mkdir(copied.dir, 0o700); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build returns the path of the product's binary.
func build(t testing.TB) string {
	t.Helper()
	product.once.Do(func() {
		var dir string
		if dir, product.err = filepath.Abs(root); product.err == nil {
			product.err = process.Build(context.WithoutCancel(t.Context()), dir, product.path, nil)
		}
	})
	if product.err != nil {
		t.Fatal(product.err)
	}
	return product.path
}

// TestPreflight checks that evergate preflight has no findings in the manifests, also in another namespace.
func TestPreflight(t *testing.T) {
	binary := build(t)
	eachOverlay(t, func(t *testing.T, k *Kit, dir string) {
		elsewhere := k.add(t, "namespace: another-name\nresources: [../../"+dir+"]\ntransformers: [../../kustomize/wiring]")
		for _, dir := range []string{dir, elsewhere} {
			cmd := exec.CommandContext(t.Context(), binary, "preflight", "-f", "-", "-o", "json")
			cmd.Stdin = strings.NewReader(string(k.render(t, dir)))
			var stderr strings.Builder // contains warnings about unknown variables, such as EVERGATE_E2E_…
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s%s", err, out, stderr.String())
			}
			var report struct {
				Findings []struct{ ID, Severity, Object, Message string }
			}
			must(t, json.Unmarshal(out, &report))
			for _, f := range report.Findings {
				if f.Severity != "info" {
					t.Errorf("%s: %s %s: %s", dir, f.ID, f.Object, f.Message)
				}
			}
		}
	})
}

const servedPolicy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io}
pods:
- {name: only-mirrors, mode: enforce, images: {from: mirrors}}
ingresses:
- {name: no-snippets, mode: enforce, annotations: {denied: ["*/configuration-snippet"]}}
services:
- {name: no-node-ports, mode: enforce, types: {denied: [NodePort]}}
- {name: own-addresses, mode: enforce, loadBalancerStatus: {allowed: [192.0.2.0/24]}}
`

// TestServed runs the product behind the webhooks in the manifests on a real API server, and checks the messages for
// users.
func TestServed(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-closed"))
	c.serve(t, build(t), policyFile(t, servedPolicy))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{optIn: "enabled"}}}
	if _, err := c.admin.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the webhooks are active", func(ctx context.Context) bool {
		p, err := c.admin.CoreV1().Pods("team").Create(ctx, pod("p", "nginx:1"), dryRun)
		validated := createPod("team", pod("q", "quay.io/a/b:1"), dryRun)(ctx, c.admin)
		return err == nil && strings.HasPrefix(p.Spec.Containers[0].Image, "mirror.corp.example/") && validated != nil
	})

	t.Run("a Pod is rewritten", func(t *testing.T) {
		p, err := c.admin.CoreV1().Pods("team").Create(t.Context(), pod("p", "nginx:1"), metav1.CreateOptions{})
		must(t, err)
		if got, want := p.Spec.Containers[0].Image, "mirror.corp.example/docker.io/library/nginx:1"; got != want {
			t.Errorf("its image is %s, want %s", got, want)
		}
	})
	t.Run("a Pod from elsewhere is denied", func(t *testing.T) {
		c.denied(t, createPod("team", pod("q", "quay.io/a/b:1"), dryRun), pods,
			"only-mirrors/images.from: spec.containers[0].image: ")
	})
	t.Run("a Service is denied", func(t *testing.T) {
		svc := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "s"},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
		}
		_, err := c.admin.CoreV1().Services("team").Create(t.Context(), svc, dryRun)
		checkDenial(t, err, services, "no-node-ports/types.denied: spec.type: ")
	})
	t.Run("an address in the status is denied", func(t *testing.T) {
		must(t, createLoadBalancer("team", "lb")(t.Context(), c.admin))
		foreign := `{"status": {"loadBalancer": {"ingress": [{"ip": "8.8.8.8"}]}}}`
		c.denied(t, patchStatus("team", "lb", foreign, dryRunPatch), balancer,
			"own-addresses/loadBalancerStatus.allowed: status.loadBalancer.ingress[0].ip: ")
		if err := patchStatus("team", "lb", oneAddress, metav1.PatchOptions{})(t.Context(), c.admin); err != nil {
			t.Errorf("an address that is allowed: %v", err)
		}
	})
	t.Run("an annotation is denied, also through the status", func(t *testing.T) {
		must(t, createIngress("team", metav1.CreateOptions{})(t.Context(), c.admin))
		snippet := func(i *networkingv1.Ingress) {
			i.Annotations = map[string]string{"nginx.ingress.kubernetes.io/configuration-snippet": "x"}
		}
		for _, status := range []bool{false, true} {
			c.denied(t, changeIngress(status, snippet), ingress, "no-snippets/annotations.denied: ")
		}
	})
	t.Run("a bad policy is denied when it is applied", func(t *testing.T) {
		bad := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "evergate-policy"},
			Data:       map[string]string{"policy.yaml": strings.Replace(servedPolicy, "services:", "servises:", 1)},
		}
		_, err := c.admin.CoreV1().ConfigMaps("evergate-system").Create(t.Context(), bad, dryRun)
		checkDenial(t, err, policy, "policy.yaml:9:1: servises: unknown field; did you mean services?")
		bad.Namespace, bad.Name = "team", "other"
		if _, err := c.admin.CoreV1().ConfigMaps("team").Create(t.Context(), bad, dryRun); err != nil {
			t.Errorf("another ConfigMap: %v", err)
		}
	})
}

func (c *cluster) denied(t *testing.T, do write, hook, sentence string) {
	t.Helper()
	checkDenial(t, do(t.Context(), c.admin), hook, sentence)
}

func checkDenial(t *testing.T, err error, hook, sentence string) {
	t.Helper()
	if want := `admission webhook "` + hook + `" denied the request: ` + sentence; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// serve runs the product on loopback with a policy file and makes the webhooks call it there, because Services do not
// work without kube-proxy.
func (c *cluster) serve(t testing.TB, binary, policy string) {
	t.Helper()
	ca, err := pki.NewCA("evergate")
	must(t, err)
	p := startProduct(t, binary, mount(t, ca), policy)
	c.eachWebhook(t, func(config *admissionv1.WebhookClientConfig) {
		target := "https://" + p.Addr + *config.Service.Path
		*config = admissionv1.WebhookClientConfig{URL: &target, CABundle: ca.PEM}
	})
}

// mount returns a directory with the contents of the Secret evergate-tls.
func mount(t testing.TB, ca *pki.CA) string {
	t.Helper()
	leaf, err := ca.Leaf("evergate.evergate-system.svc", "127.0.0.1")
	must(t, err)
	mount := pki.Mount{Dir: t.TempDir()}
	must(t, mount.WritePair(ca, leaf))
	return mount.Dir
}

// policyFile writes a policy to a file.
func policyFile(t testing.TB, policy string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	must(t, os.WriteFile(file, []byte(policy), 0o600))
	return file
}

// startProduct runs the product with a policy file and a certificate in a directory, and returns when it is ready.
func startProduct(t testing.TB, binary, certificate, policy string, flags ...string) *process.Process {
	t.Helper()
	p, err := process.Start(t.Context(), binary, append([]string{
		"--policy", policy, "--service-name", "evergate.evergate-system.svc",
		"--tls-cert", filepath.Join(certificate, "tls.crt"), "--tls-key", filepath.Join(certificate, "tls.key"),
	}, flags...)...)
	must(t, err)
	must(t, p.AwaitReady(t.Context()))
	return p
}

// eachWebhook changes how the API server reaches the webhooks in the manifests.
func (c *cluster) eachWebhook(t testing.TB, change func(*admissionv1.WebhookClientConfig)) {
	t.Helper()
	api := c.admin.AdmissionregistrationV1()
	mutating, err := api.MutatingWebhookConfigurations().Get(t.Context(), "evergate", metav1.GetOptions{})
	must(t, err)
	for i := range mutating.Webhooks {
		change(&mutating.Webhooks[i].ClientConfig)
	}
	if _, err := api.MutatingWebhookConfigurations().Update(t.Context(), mutating, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	validating, err := api.ValidatingWebhookConfigurations().Get(t.Context(), "evergate", metav1.GetOptions{})
	must(t, err)
	for i := range validating.Webhooks {
		change(&validating.Webhooks[i].ClientConfig)
	}
	if _, err := api.ValidatingWebhookConfigurations().Update(t.Context(), validating,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
