package traces

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/evergate/evergate/e2e/internal/pki"
	"github.com/evergate/evergate/e2e/internal/process"
	"github.com/evergate/evergate/e2e/internal/tool"
)

const (
	root = "../../.." // of the server's module

	podUID = "275ecb36-5aa8-4c2a-9c47-d8bb681b9aff"

	policy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io}
pods:
- {name: no-latest, mode: enforce, images: {deniedTags: [latest]}}
`
)

// product is built once for all tests.
type product struct {
	once sync.Once
	path string
	err  error
}

var shared product

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "evergate-traces-")
	if err != nil {
		panic(err)
	}
	shared.path = filepath.Join(dir, "evergate")
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func binary(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		var dir string
		if dir, shared.err = filepath.Abs(root); shared.err == nil {
			shared.err = process.Build(context.WithoutCancel(t.Context()), dir, shared.path, nil)
		}
	})
	must(t, shared.err)
	return shared.path
}

// startJaeger runs a Jaeger for one test, or skips the test if it has not been built.
func startJaeger(t testing.TB) *Jaeger {
	t.Helper()
	binary, log := tool.Need(t, "jaeger"), filepath.Join(t.TempDir(), "jaeger.log")
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	j, err := StartJaeger(ctx, binary, log)
	t.Cleanup(func() {
		cancel()
		if j != nil {
			j.Wait()
		}
	})
	if err != nil {
		text, _ := os.ReadFile(log)
		t.Fatalf("%v\n%s", err, text)
	}
	return j
}

// webhook is a running evergate and a client that trusts it.
type webhook struct {
	*process.Process
	ca     *pki.CA
	client *http.Client
}

// exported returns the variables that make evergate send spans to an endpoint.
func exported(protocol, endpoint string) []string {
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
		"K8S_NAMESPACE_NAME=evergate-system", "K8S_NODE_NAME=node-1", "K8S_POD_NAME=evergate-0", "K8S_POD_UID=" + podUID,
	}
}

// serve starts evergate with environment variables, and waits until it is ready.
func serve(t testing.TB, variables []string, args ...string) *webhook {
	t.Helper()
	ca, err := pki.NewCA("evergate")
	must(t, err)
	leaf, err := ca.Leaf("evergate.evergate-system.svc", "127.0.0.1")
	must(t, err)
	mount := pki.Mount{Dir: t.TempDir()}
	must(t, mount.WritePair(ca, leaf))
	file := filepath.Join(t.TempDir(), "policy.yaml")
	must(t, os.WriteFile(file, []byte(policy), 0o600))
	args = append([]string{
		"--policy", file, "--service-name", "evergate.evergate-system.svc",
		"--tls-cert", filepath.Join(mount.Dir, "tls.crt"), "--tls-key", filepath.Join(mount.Dir, "tls.key"),
		"--drain-delay", "0s", "--drain-timeout", "1s",
	}, args...)
	p, err := process.StartWith(t.Context(), variables, binary(t), args...)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of evergate:\n%s", p.Log())
		}
	})
	must(t, p.AwaitReady(t.Context()))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}}
	t.Cleanup(transport.CloseIdleConnections)
	// the longest time that an API server waits
	return &webhook{p, ca, &http.Client{Transport: transport, Timeout: 30 * time.Second}}
}

// end stops the process, and fails the test if it does not end successfully.
func (w *webhook) end(t testing.TB) {
	t.Helper()
	w.client.CloseIdleConnections() // the drain then does not wait for them
	must(t, w.Terminate())
	ctx, cancel := context.WithTimeout(t.Context(), traceDeadline)
	defer cancel()
	select {
	case <-w.Done():
	case <-ctx.Done():
		t.Fatal("the process does not end")
	}
	if code := w.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// review returns a review of a created Pod, as kube-apiserver would send it.
func review(uid, name, image string) []byte {
	return fmt.Appendf(nil, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
  "uid": %q, "operation": "CREATE", "namespace": "team", "name": %q, "userInfo": {"username": "alice"},
  "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
  "requestKind": {"group": "", "version": "v1", "kind": "Pod"}, "requestResource": {"group": "", "version": "v1", "resource": "pods"},
  "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %[2]q, "namespace": "team"},
    "spec": {"containers": [{"name": "main", "image": %q}]}}}}`, uid, name, image)
}

// post sends a review, with a traceparent unless it is empty.
func (w *webhook) post(ctx context.Context, path, traceparent string,
	body []byte) (*admissionv1.AdmissionResponse, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+w.Addr+path+"?timeout=10s",
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if traceparent != "" {
		req.Header.Set("Traceparent", traceparent)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	return answer(resp)
}

func answer(resp *http.Response) (*admissionv1.AdmissionResponse, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", resp.Status, body)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, err
	}
	return review.Response, nil
}

// metric returns the sum of a metric's series whose labels contain label.
func (w *webhook) metric(t testing.TB, name, label string) float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.Ops+"/metrics", nil)
	must(t, err)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	sum := 0.0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		series, text, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		var v float64
		if !bytes.HasPrefix(series, []byte(name)) || !bytes.Contains(series, []byte(label)) {
			continue
		}
		if _, err := fmt.Sscan(string(text), &v); err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	return sum
}

// randomHex returns n random bytes in hexadecimal: the ID of a trace (16) or of a span (8).
func randomHex(n int) string {
	id := make([]byte, n)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
