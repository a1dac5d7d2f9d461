package kit

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/pki"
)

const runbooks = root + "/docs/runbooks"

// indexed returns the messages in the index by error text that come from kubectl and from API servers.
func indexed(t *testing.T) []string {
	t.Helper()
	const section = "From kubectl, and in the log of the API server"
	_, text, ok := strings.Cut(string(readFile(t, runbooks+"/README.md")), "\n### "+section+"\n")
	if !ok {
		t.Fatalf("there is no section %q", section)
	}
	text, _, _ = strings.Cut(text, "\n### ")
	var messages []string
	for line := range strings.Lines(text) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) != 3 {
			continue
		}
		for _, span := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cells[0], -1) {
			messages = append(messages, span[1])
		}
	}
	if len(messages) < 6 {
		t.Fatalf("only %d messages in the section %q", len(messages), section)
	}
	return messages
}

// says reports whether a text contains a message of the index. An ellipsis in the message matches anything.
func says(text, message string) bool {
	var parts []string
	for part := range strings.SplitSeq(message, "…") {
		parts = append(parts, regexp.QuoteMeta(part))
	}
	return regexp.MustCompile(strings.Join(parts, ".*")).MatchString(text)
}

// TestMessagesOfTheAPIServer causes each message that, according to the index, kubectl or an API server prints. It uses
// a real API server, which calls the Service at its address.
func TestMessagesOfTheAPIServer(t *testing.T) {
	t.Parallel()
	var seen strings.Builder
	t.Run("failed calls", func(t *testing.T) { failedCalls(t, &seen) })
	t.Run("no endpoints", func(t *testing.T) { noEndpoints(t, &seen) })
	t.Run("kustomize", func(t *testing.T) { kustomizeErrors(t, &seen) })
	if t.Failed() || seen.Len() == 0 {
		return // skipped if there is no API server
	}
	for _, message := range indexed(t) {
		if !says(seen.String(), message) {
			t.Errorf("nothing has printed %q", message)
		}
	}
}

// failedCalls makes calls to the validating webhook fail in every way.
func failedCalls(t *testing.T, seen *strings.Builder) {
	// Without kube-proxy, a cluster IP does not work, unless it is an address of this machine.
	c := start(t, "--service-cluster-ip-range=127.96.0.0/16")
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-closed"))
	c.createUsers(t)
	c.createNamespace(t, "team", map[string]string{optIn: "enabled"})
	service, err := c.admin.CoreV1().Services("evergate-system").Get(t.Context(), "evergate", metav1.GetOptions{})
	must(t, err)
	address := net.JoinHostPort(service.Spec.ClusterIP, "443")
	for _, call := range calls(t) {
		c.eachWebhook(t, func(config *admissionv1.WebhookClientConfig) { config.CABundle = call.trusted.PEM })
		stop := call.serve(t, address)
		await(t, call.want, func(ctx context.Context) bool {
			err := createPod("team", pod("", mirrored), dryRun)(ctx, c.admin)
			if err == nil || !says(err.Error(), call.want) {
				return false
			}
			seen.WriteString(err.Error() + "\n")
			return true
		})
		stop()
	}
	c.kubectl(t, "", "delete", "service", "-n", "evergate-system", "evergate")
	await(t, "no Service", func(ctx context.Context) bool {
		err := createPod("team", pod("", mirrored), dryRun)(ctx, c.admin)
		seen.WriteString(err.Error() + "\n")
		return says(err.Error(), `service "evergate" not found`)
	})
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-open"))
	await(t, "failing open", func(ctx context.Context) bool {
		return createPod("team", pod("", mirrored), dryRun)(ctx, c.admin) == nil
	})
	seen.Write(readFile(t, filepath.Join(filepath.Dir(c.kubeconfig), "kube-apiserver.log")))
	c.denials(t, seen)
}

// call is a server in the place of Evergate, and the API server's message about a call to it.
type call struct {
	trusted *pki.CA // in caBundle
	pair    pki.Pair
	status  int    // of the response; 0: none, the connection is never accepted; -1: there is no server; 200: a denial
	want    string // part of the message
}

func calls(t *testing.T) []call {
	t.Helper()
	ca, other := newCA(t), newCA(t)
	const name = "evergate.evergate-system.svc"
	pair := func(pair pki.Pair, err error) pki.Pair {
		t.Helper()
		must(t, err)
		return pair
	}
	leaf := pair(ca.Leaf(name))
	return []call{
		{ca, leaf, -1, "connect: connection refused"},
		{ca, leaf, 0, "context deadline exceeded"},
		{other, leaf, 200, "x509: certificate signed by unknown authority"},
		{ca, pair(ca.Expired(name)), 200, "x509: certificate has expired or is not yet valid"},
		{ca, pair(ca.Leaf("evergate.elsewhere.svc")), 200,
			"x509: certificate is valid for …, not evergate.evergate-system.svc"},
		{ca, leaf, 401, "the server has asked for the client to provide credentials"},
		{ca, leaf, 404, "the server could not find the requested resource"},
		{ca, leaf, 429, "the server has received too many requests"},
		{ca, leaf, 500, "an error on the server"},
		{ca, leaf, 503, "the server is currently unable to handle the request"},
		{ca, leaf, 200, `admission webhook "….evergate.dev" denied the request: a sentence`},
	}
}

func newCA(t *testing.T) *pki.CA {
	t.Helper()
	ca, err := pki.NewCA("evergate")
	must(t, err)
	return ca
}

// serve listens at the address of the Service until stop is called.
func (s call) serve(t *testing.T, address string) (stop func()) {
	t.Helper()
	if s.status < 0 {
		return func() {}
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if errors.Is(err, fs.ErrPermission) {
		t.Skipf("this user may not listen where the Service is: %v", err)
	}
	must(t, err)
	if s.status == 0 {
		return func() { l.Close() }
	}
	certificate, err := tls.X509KeyPair(s.pair.Cert, s.pair.Key)
	must(t, err)
	server := &http.Server{
		Handler: http.HandlerFunc(s.answer), TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		ErrorLog: log.New(io.Discard, "", 0), // handshakes fail here on purpose
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeTLS(l, "", "") // ends with Close
	}()
	return func() {
		server.Close()
		<-done
	}
}

// answer denies every review, or fails with the status.
func (s call) answer(w http.ResponseWriter, r *http.Request) {
	if s.status != http.StatusOK {
		w.WriteHeader(s.status)
		return
	}
	body, err := io.ReadAll(r.Body)
	uid := regexp.MustCompile(`"uid":"([^"]+)"`).FindSubmatch(body) // the first one is the request's
	if err != nil || uid == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": "`+
		string(uid[1])+`", "allowed": false, "status": {"message": "a sentence"}}}`)
}

// denials causes the messages for a user without a permission, and for a user who applies a policy file as if it were
// an object.
func (c *cluster) denials(t *testing.T, seen *strings.Builder) {
	t.Helper()
	jane := c.as(t, "creator")
	await(t, "the guards are active", func(ctx context.Context) bool {
		_, labelled := jane.CoreV1().Namespaces().Create(ctx, namespace("x", map[string]string{optIn: "enabled"}), dryRun)
		_, exempt := jane.CoreV1().Namespaces().Create(ctx, namespace("cert-manager", nil), dryRun)
		if labelled == nil || exempt == nil {
			return false
		}
		seen.WriteString(labelled.Error() + "\n" + exempt.Error() + "\n")
		return true
	})
	cmd := exec.CommandContext(t.Context(), c.bin.Kubectl(), "apply", "-f",
		filepath.Join(root, "examples/policies/minimal.yaml"))
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("kubectl applies a policy file:\n%s", out)
	}
	seen.Write(out)
}

// noEndpoints uses an API server that calls endpoints instead of the cluster IP.
func noEndpoints(t *testing.T, seen *strings.Builder) {
	c := start(t, "--enable-aggregator-routing=true")
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-closed"))
	c.createUsers(t)
	c.createNamespace(t, "team", map[string]string{optIn: "enabled"})
	await(t, "the webhooks are active", func(ctx context.Context) bool {
		err := createPod("team", pod("", mirrored), dryRun)(ctx, c.admin)
		if err != nil {
			seen.WriteString(err.Error() + "\n")
		}
		return err != nil && says(err.Error(), `no endpoints available for service "evergate"`)
	})
}

func kustomizeErrors(t *testing.T, seen *strings.Builder) {
	for _, overlay := range []string{
		"components: [../../kustomize/components/network-policy]",
		"patches: [{target: {kind: ExemptNamespaces}, patch: '[{\"op\": \"replace\", \"path\": \"/names\", " +
			"\"value\": []}]'}]\n" +
			"transformers: [../../kustomize/wiring]",
	} {
		k := read(t)
		if _, err := k.Render(k.add(t, "resources: [../../kustomize/overlays/fail-closed]\n"+overlay)); err != nil {
			seen.WriteString(err.Error() + "\n")
		}
	}
}
