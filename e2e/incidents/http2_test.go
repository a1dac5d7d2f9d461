package incidents

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/load"
)

// http2Manifest deploys a test server with HTTP/2 on each node.
const http2Manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: http2, namespace: plain}
spec:
  replicas: 3
  selector: {matchLabels: {app: http2}}
  template:
    metadata: {labels: {app: http2}}
    spec:
      topologySpreadConstraints:
      - {topologyKey: kubernetes.io/hostname, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: http2}}}
      containers:
      - name: http2
        image: evergate.e2e/http2:1
        imagePullPolicy: Never
        env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
        ports: [{containerPort: 8443}]
        readinessProbe: {tcpSocket: {port: 8443}, periodSeconds: 2}
---
apiVersion: v1
kind: Service
metadata: {name: http2, namespace: plain}
spec:
  selector: {app: http2}
  ports: [{port: 443, targetPort: 8443}]
`

// multiplexed is an HTTP/2 client of that server. All its calls use one connection.
type multiplexed struct {
	client *http.Client
	url    string
	node   string // at the other end of the connection
	load   *load.Load
}

// startHTTP2 deploys the servers and starts a client.
func (l *lab) startHTTP2(t *testing.T) *multiplexed {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "http2")
	l.build(t, "./cmd/http2", binary)
	l.LoadBinary(t, "evergate.e2e/http2:1", binary)
	l.undo(t, "-n", plain, "delete", "deployment,service", "http2", "--wait=false")
	l.Kubectl(t, http2Manifest, "apply", "-f", "-")
	l.Kubectl(t, "", "-n", plain, "rollout", "status", "deployment/http2", "--timeout=3m")
	svc, err := l.api.CoreV1().Services(plain).Get(t.Context(), "http2", metav1.GetOptions{})
	must(t, err)
	m := &multiplexed{url: "https://" + svc.Spec.ClusterIP + "/", client: &http.Client{
		Timeout: 3 * time.Second, // the timeout in the manifests
		Transport: &http.Transport{
			ForceAttemptHTTP2: true,
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // this test is about connections and not about trust
		},
	}}
	l.await(t, "an answer over HTTP/2", time.Minute, func(ctx context.Context) error {
		m.node, err = m.call(ctx)
		return err
	})
	m.load = load.Start(t.Context(), 1, func(ctx context.Context, _ int64) error {
		pause(ctx, 20*time.Millisecond) // a steady rate of calls is enough, and leaves the cores to other processes
		_, err := m.call(ctx)
		return err
	})
	t.Cleanup(func() { m.load.Stop(); m.client.CloseIdleConnections() })
	return m
}

// build builds a server of the tests.
func (l *lab) build(t *testing.T, command, binary string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, command)
	build.Dir, build.Env = l.Dir, append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", command, err, out)
	}
}

func (m *multiplexed) call(ctx context.Context) (node string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, nil)
	if err != nil {
		return "", err
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 {
		return "", fmt.Errorf("the answer came by %s", resp.Proto)
	}
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// stop returns the results of the client after its node was lost and removed from the endpoints.
func (m *multiplexed) stop(begun, gone time.Time) outcome {
	b := m.load.Stop()
	var o outcome
	o.figure("calls over HTTP/2", "%d, failed %d", b.Calls, b.Failures)
	o.lastFailure(b.Lost, begun, gone)
	return o
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// onNode returns the Pod that runs on a node, or nil.
func onNode(pods []corev1.Pod, node string) *corev1.Pod {
	for i := range pods {
		if pods[i].Spec.NodeName == node {
			return &pods[i]
		}
	}
	return nil
}
