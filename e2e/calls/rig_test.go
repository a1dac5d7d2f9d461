// Package calls tests Evergate's first guarantee: no call is lost. The clients use kube-apiserver's webhook client, the
// servers are processes of the built binary, and the tests cause the same events as in clusters. Each test prints its
// results, which are also in docs/measurements.md.
package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/pki"
	"github.com/evergate/evergate/e2e/internal/process"
)

const (
	root    = "../.." // of the server's module
	clients = 16      // enough to keep two cores busy

	// timeout only ends calls that hang. These tests are about lost calls and not about slow machines, where a call
	// among ten thousand hostile connections takes longer than timeoutSeconds.
	timeout = 5 * time.Minute
)

const policy = `
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, sources: [docker.io], mirror: mirror.corp.example/docker.io, mode: enforce}
pods:
- {name: digests, mode: audit, images: {digest: required}}
`

// binaries are built once for all tests: the product, and variants without one feature.
type binaries struct {
	dir   string
	mu    sync.Mutex
	built map[string]string
}

var shared = &binaries{built: map[string]string{}}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "evergate-calls-")
	if err != nil {
		panic(err)
	}
	shared.dir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// binary builds the product. overlay replaces files of the product by files in testdata.
func binary(t testing.TB, name string, overlay map[string]string) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if path, ok := shared.built[name]; ok {
		return path
	}
	path := filepath.Join(shared.dir, name)
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Build(t.Context(), dir, path, overlay); err != nil {
		t.Fatal(err)
	}
	shared.built[name] = path
	return path
}

func product(t testing.TB) string { return binary(t, "evergate", nil) }

// cluster is the environment of the processes: a Service, a CA, mounted files.
type cluster struct {
	t       testing.TB
	binary  string
	service *client.Service
	ca      *pki.CA
	tls     *pki.Mount
	policy  *pki.Mount
	args    []string
}

func newCluster(t testing.TB, binary string, args ...string) *cluster {
	t.Helper()
	ca, err := pki.NewCA("evergate-ca")
	must(t, err)
	c := &cluster{
		t: t, binary: binary, ca: ca, args: args,
		service: client.NewService("evergate", "evergate-system"),
		tls:     &pki.Mount{Dir: t.TempDir()},
		policy:  &pki.Mount{Dir: t.TempDir()},
	}
	c.renewLeaf()
	must(t, c.policy.Write(map[string][]byte{"policy.yaml": []byte(policy)}))
	return c
}

func (c *cluster) renewLeaf() {
	c.t.Helper()
	leaf, err := c.ca.Leaf(c.service.DNSName())
	must(c.t, err)
	must(c.t, c.tls.WritePair(c.ca, leaf))
}

// start runs a process and waits until it is ready. It is not an endpoint of the Service yet.
func (c *cluster) start() *process.Process {
	c.t.Helper()
	p := c.launch()
	must(c.t, p.AwaitReady(c.t.Context()))
	return p
}

// launch runs a process and does not wait.
func (c *cluster) launch() *process.Process {
	c.t.Helper()
	args := append([]string{
		"--tls-cert", filepath.Join(c.tls.Dir, "tls.crt"), "--tls-key", filepath.Join(c.tls.Dir, "tls.key"),
		"--service-name", c.service.DNSName(), "--policy", c.policy.Dir, "--reload-interval", "50ms",
	}, c.args...)
	p, err := process.Start(c.t.Context(), c.binary, args...)
	must(c.t, err)
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("log of process %d:\n%s", p.PID(), tail(p.Log(), 40))
		}
	})
	return p
}

func (c *cluster) client(routing client.Routing) *client.Client {
	c.t.Helper()
	apiServer, err := client.New(c.service, c.ca.PEM, routing, timeout)
	must(c.t, err)
	return apiServer
}

// load starts clients that alternately call the mutating and the validating webhook for Pods, and check the responses.
func (c *cluster) load(apiServer *client.Client, n int) *client.Load {
	return client.Start(c.t.Context(), apiServer, n, func(ctx context.Context, i int64) error {
		if i%2 == 0 {
			return mutate(ctx, apiServer)
		}
		return validate(ctx, apiServer)
	})
}

func mutate(ctx context.Context, apiServer *client.Client) error {
	answer, err := apiServer.Call(ctx, "/mutate/pods", true, podReview("nginx:1.25"))
	if err != nil {
		return err
	}
	if want := []byte(`"mirror.corp.example/docker.io/library/nginx:1.25"`); !bytes.Contains(answer.Patch, want) {
		return fmt.Errorf("the patch does not rewrite the image: %s", answer.Patch)
	}
	return nil
}

func validate(ctx context.Context, apiServer *client.Client) error {
	review := podReview("mirror.corp.example/docker.io/library/nginx:1.25")
	answer, err := apiServer.Call(ctx, "/validate/pods", false, review)
	if err == nil && !answer.Allowed {
		err = fmt.Errorf("denied: %s", answer.Result.Message)
	}
	return err
}

func podReview(image string) *admissionv1.AdmissionReview {
	pod := corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Namespace: "team-a", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
	raw, err := json.Marshal(pod)
	if err != nil {
		panic(err)
	}
	return &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:       uuid.NewUUID(),
			Kind:      metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
			Namespace: "team-a", Operation: admissionv1.Create,
			UserInfo: authenticationv1.UserInfo{Username: "system:serviceaccount:kube-system:replicaset-controller"},
			Object:   runtime.RawExtension{Raw: raw},
		},
	}
}

// await waits for an event until the end of the test.
func await(t testing.TB, what string, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-t.Context().Done():
		t.Fatalf("waiting for %s: %v", what, t.Context().Err())
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func tail(text string, n int) string {
	lines := bytes.Split([]byte(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}

// notShort skips a test of half a minute or more in go test -short, which make test uses.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short skips tests of half a minute")
	}
}
