package cmd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/evergate/evergate/examples"
	"github.com/evergate/evergate/lifecycle"
)

// written is the output of a command. A test can wait for output.
type written struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed by the next Write
}

func newWritten() *written { return &written{changed: make(chan struct{})} }

func (o *written) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(p)
}

func (o *written) look() (text string, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.changed
}

func (o *written) String() string {
	text, _ := o.look()
	return text
}

// served is a run of evergate serve in this process.
type served struct {
	stdout, stderr *written
	stop           context.CancelFunc // like the first signal
	ended          chan struct{}
	code           int // valid after the end
}

// startServe runs evergate serve on free ports. It drains without a delay, because there is no Service.
func startServe(t *testing.T, environ []string, args ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{stdout: newWritten(), stderr: newWritten(), stop: cancel, ended: make(chan struct{})}
	environ = append([]string{
		"EVERGATE_LISTEN=127.0.0.1:0", "EVERGATE_OPS_LISTEN=127.0.0.1:0", "EVERGATE_DRAIN_DELAY=0s",
	}, environ...)
	go func() {
		defer close(s.ended)
		s.code = Run(ctx, append([]string{"serve"}, args...), environ, nil, s.stdout, s.stderr)
	}()
	t.Cleanup(func() { cancel(); <-s.ended })
	return s
}

// await waits until the output matches the pattern, and returns its first group.
func (s *served) await(t *testing.T, o *written, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for {
		text, changed := o.look()
		if m := re.FindStringSubmatch(text); m != nil {
			return m[len(m)-1]
		}
		select {
		case <-changed:
		case <-s.ended:
			if o.String() != text {
				continue
			}
			t.Fatalf("ended with code %d before there was %s\nstdout:\n%s\nstderr:\n%s", s.code, pattern, s.stdout, s.stderr)
		}
	}
}

// end waits for the exit code, and checks it and the last line of the log. Each line is a JSON object.
func (s *served) end(t *testing.T, code int, reason string) {
	t.Helper()
	<-s.ended
	lines := strings.Split(strings.TrimSpace(s.stderr.String()), "\n")
	var last struct {
		Msg   string `json:"msg"`
		Code  int    `json:"code"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatalf("the last line is no log line: %v\n%s", err, s.stderr)
	}
	if s.code != code || last.Msg != "exit" || last.Code != code || last.Error != reason {
		t.Errorf("exit code %d, and the last line says %+v; want %d and %q\n%s", s.code, last, code, reason, s.stderr)
	}
}

// trusting returns a client that trusts the CA in a file.
func trusting(t *testing.T, file string) *http.Client {
	t.Helper()
	ca, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatalf("%s holds no certificate", file)
	}
	// Without keep-alives, the server does not wait for connections during the drain.
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
}

// call sends a request and returns the status and the body. With a body, the method is POST.
func call(t *testing.T, client *http.Client, url string, body []byte) (int, string) {
	t.Helper()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// certificate returns a serving certificate for example.com and 127.0.0.1 and its key, in PEM.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	der, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// exampleReview returns one of the reviews in examples/reviews: of a pod, an ingress or a service.
func exampleReview(t *testing.T, name string) []byte {
	t.Helper()
	review, err := os.ReadFile("../examples/reviews/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return review
}

// The greeting of --dev is correct: its commands work unchanged, and Ctrl-C ends the process cleanly.
func TestServeDev(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.crt")
	s := startServe(t, nil, "--dev", "--dev-ca", ca)
	s.await(t, s.stdout, `Press Ctrl-C to stop`)
	greeting := s.stdout.String()
	for _, want := range []string{"CA        " + ca, "examples/policies/dev.yaml", "--cacert " + ca} {
		if !strings.Contains(greeting, want) {
			t.Errorf("the greeting has no %q:\n%s", want, greeting)
		}
	}
	client := trusting(t, ca)
	tried := regexp.MustCompile(`-d @(\S+) (https://\S+)`).FindAllStringSubmatch(greeting, -1)
	if len(tried) != 2 {
		t.Fatalf("the greeting has %d commands, want 2:\n%s", len(tried), greeting)
	}
	for i, want := range []string{`"patchType":"JSONPatch"`, `"allowed":false`} {
		body, err := os.ReadFile(filepath.Join("..", tried[i][1]))
		if err != nil {
			t.Fatal(err)
		}
		if status, answer := call(t, client, tried[i][2], body); status != 200 || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", tried[i][0], status, answer)
		}
	}
	ops, _, _ := strings.Cut(s.await(t, s.stdout, `metrics\s+(http://\S+)`), "/metrics")
	for path, want := range map[string]string{
		"/readyz": "ok\n", "/livez": "ok\n",
		"/policy": `"path": "examples/policies/dev.yaml"`, "/metrics": `evergate_phase{phase="ready"} 1`,
	} {
		if status, answer := call(t, client, ops+path, nil); status != 200 || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	s.stop()
	s.end(t, 0, "")
	for _, want := range []string{`"from":"ready","to":"draining"`, `"from":"draining","to":"stopping"`,
		`"from":"stopping","to":"stopped"`} {
		if !strings.Contains(s.stderr.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, s.stderr)
		}
	}
}

// Variables can set everything. A running review is answered when the process ends.
func TestServeByVariables(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t)
	write(t, filepath.Join(dir, "tls.crt"), cert)
	write(t, filepath.Join(dir, "tls.key"), key)
	write(t, filepath.Join(dir, "policy.yaml"), examples.DevPolicy())
	s := startServe(t, []string{
		"EVERGATE_TLS_CERT=" + filepath.Join(dir, "tls.crt"), "EVERGATE_TLS_KEY=" + filepath.Join(dir, "tls.key"),
		"EVERGATE_POLICY=" + filepath.Join(dir, "policy.yaml"), "EVERGATE_SERVICE_NAME=example.com",
		"EVERGATE_DRAIN_TIMEOUT=1m", "EVERGATE_DRAIN_READINESS=keep", "EVERGATE_LOG_LEVEL=debug",
	})
	address := s.await(t, s.stderr, `"to":"listening".*"address":"([^"]+)"`)
	s.await(t, s.stderr, `"to":"ready"`)
	client := trusting(t, filepath.Join(dir, "tls.crt"))
	services := "https://" + address + "/validate/services"
	if status, answer := call(t, client, services, exampleReview(t, "service")); status != 200 {
		t.Errorf("a Service: %d %s", status, answer)
	}
	s.await(t, s.stderr, `"level":"DEBUG","msg":"allowed"`)

	// The first half of a review is sent before the end, and the second half after.
	dialer := tls.Dialer{Config: client.Transport.(*http.Transport).TLSClientConfig}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	req := httptest.NewRequest(http.MethodPost, "https://example.com/mutate/pods?timeout=30s",
		bytes.NewReader(exampleReview(t, "pod")))
	req.Header.Set("Content-Type", "application/json")
	var raw bytes.Buffer
	if err := req.Write(&raw); err != nil {
		t.Fatal(err)
	}
	half := raw.Len() / 2
	if _, err := conn.Write(raw.Next(half)); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.await(t, s.stderr, `"to":"draining"`)
	ops := s.await(t, s.stderr, `"msg":"ops port bound","address":"([^"]+)"`)
	if status, answer := call(t, http.DefaultClient, "http://"+ops+"/readyz", nil); status != 200 {
		t.Errorf("/readyz of a drain that keeps it: %d %s", status, answer)
	}
	if _, err := raw.WriteTo(conn); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for _, want := range []string{"HTTP/1.1 200 OK\r\n", "Connection: close\r\n", `"patchType":"JSONPatch"`} {
		if !strings.Contains(string(answer), want) {
			t.Errorf("the answer has no %q:\n%s", want, answer)
		}
	}
	s.end(t, 0, "")
}

// The process waits for a certificate that is still being issued.
func TestServeWaitsForItsCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	s := startServe(t, nil, "--tls-cert", cert, "--tls-key", key)
	ops := "http://" + s.await(t, s.stderr, `"msg":"ops port bound","address":"([^"]+)"`)
	s.await(t, s.stderr, `tls\.crt`)
	status, text := call(t, http.DefaultClient, ops+"/readyz", nil)
	if status != 503 || text != "not ready: starting\n" {
		t.Errorf("/readyz: %d %q", status, text)
	}
	if status, answer := call(t, http.DefaultClient, ops+"/livez", nil); status != 200 {
		t.Errorf("/livez: %d %q", status, answer)
	}
	certPEM, keyPEM := certificate(t)
	write(t, key, keyPEM)
	write(t, cert, certPEM)
	s.await(t, s.stderr, `"to":"listening"`)
}

// A replica that requires a policy becomes ready when the policy appears.
func TestServeRequiresPolicy(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t)
	write(t, filepath.Join(dir, "tls.crt"), cert)
	write(t, filepath.Join(dir, "tls.key"), key)
	policy := filepath.Join(dir, "policy.yaml")
	s := startServe(t, nil, "--tls-cert", filepath.Join(dir, "tls.crt"), "--tls-key", filepath.Join(dir, "tls.key"),
		"--policy", policy, "--require-policy", "--reload-interval", "10ms")
	ops := "http://" + s.await(t, s.stderr, `"msg":"ops port bound","address":"([^"]+)"`)
	s.await(t, s.stderr, `"to":"ready"`)
	status, text := call(t, http.DefaultClient, ops+"/readyz", nil)
	if want := "there is no policy at " + policy + ", but --require-policy is set\n"; status != 503 || text != want {
		t.Errorf("/readyz: %d %q, want %q", status, text, want)
	}
	write(t, policy, examples.DevPolicy())
	s.await(t, s.stderr, `"msg":"policy changed"`)
	if status, text := call(t, http.DefaultClient, ops+"/readyz", nil); status != 200 {
		t.Errorf("/readyz with a policy: %d %q", status, text)
	}
	s.stop()
}

func TestServeFailsToStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.crt")

	t.Run("no certificate in time", func(t *testing.T) {
		s := startServe(t, nil, "--tls-cert", "absent/tls.crt", "--tls-key", "absent/tls.key", "--startup-timeout", "1s")
		s.end(t, lifecycle.ExitFailed, "start: there is no serving certificate: missing: absent/tls.crt, absent/tls.key")
	})
	t.Run("no client CA in time", func(t *testing.T) {
		s := startServe(t, nil, "--dev", "--dev-ca", ca, "--client-ca-file", "absent.crt", "--startup-timeout", "1s")
		s.end(t, lifecycle.ExitFailed, "start: there is no client CA: missing: absent.crt")
	})
	t.Run("the serving port is taken", func(t *testing.T) {
		s := startServe(t, nil, "--dev", "--dev-ca", ca, "--listen", address)
		s.end(t, lifecycle.ExitFailed, "start: --listen: listen tcp "+address+
			": bind: address already in use: set another address with --listen")
		if _, err := os.Stat(ca); err == nil {
			t.Error("it has overwritten the CA of the process that serves there")
		}
	})
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"the ops port is taken", []string{"--dev-ca", ca, "--ops-listen", address},
			"evergate: --ops-listen: listen tcp " + address + ": bind: address already in use: set another address with " +
				"--ops-listen"},
		{"nowhere to write the CA to", []string{"--dev-ca", filepath.Join(dir, "absent", "ca.crt")},
			`"error":"start: --dev-ca: `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := startServe(t, nil, append(tt.args, "--dev")...)
			<-s.ended
			if s.code != lifecycle.ExitFailed || !strings.Contains(s.stderr.String(), tt.want) {
				t.Errorf("exit code %d, want 1 and %q in\n%s", s.code, tt.want, s.stderr)
			}
		})
	}
}
