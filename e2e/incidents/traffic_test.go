package incidents

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/evergate/evergate/e2e/internal/load"
	"github.com/evergate/evergate/e2e/internal/metrics"
)

const (
	// There are few clients, because a cluster and its load share two cores, and a call that timed out without a core
	// has no meaning.
	apiClients      = 4
	straightClients = 2
	// straightTimeout is longer than the webhook timeout of the API server, for the same reason.
	straightTimeout = 10 * time.Second
)

// traffic is the load during an event. Objects are written, for which the API server calls Evergate, and calls are made
// directly to the Service, like the calls in gatekeeper issue 3776.
type traffic struct {
	l        *lab
	before   metrics.Set // of the API servers
	api      *load.Load
	straight *load.Load // nil if the Service cannot be reached from here
}

// call is the n-th call of a client.
type call = func(ctx context.Context, n int64) error

// start starts the clients. They continue until stop, or until the test ends.
func (l *lab) start(t *testing.T) *traffic {
	t.Helper()
	return l.startWith(t, l.writes(t, team))
}

// startWith is like start, with other writes through the API server.
func (l *lab) startWith(t *testing.T, write call) *traffic {
	t.Helper()
	tr := l.startAPI(t, write)
	if calls := l.straight(t); calls != nil {
		tr.straight = load.Start(t.Context(), straightClients, calls)
		t.Cleanup(func() { tr.straight.Stop() })
	}
	return tr
}

// startAPI starts only clients of the API server.
func (l *lab) startAPI(t *testing.T, write call) *traffic {
	t.Helper()
	tr := &traffic{l: l, before: l.apiServer(t)}
	tr.api = load.Start(t.Context(), apiClients, write)
	t.Cleanup(func() { tr.api.Stop() })
	tr.some(t)
	return tr
}

// some waits until some more calls have been made, so that an event happens under load.
func (tr *traffic) some(t *testing.T) {
	t.Helper()
	const some = 200
	select {
	case <-tr.api.After(some):
	case <-time.After(5 * time.Minute): // generous: it takes a second on an idle machine
		t.Fatalf("there is no load: %v", tr.api.Books())
	case <-t.Context().Done():
	}
}

// lost reports whether any call was lost so far, which is enough for a control run.
func (tr *traffic) lost(t *testing.T) bool {
	t.Helper()
	if tr.api.Books().Failures > 0 || tr.straight != nil && tr.straight.Books().Failures > 0 {
		return true
	}
	return sum(tr.l.failedCalls(t, tr.before)) > 0
}

// stop ends the traffic and returns the results. The guarantees forbid failed requests and failed calls, including
// calls that failed open, which users do not notice.
func (tr *traffic) stop(t *testing.T) outcome {
	t.Helper()
	var o outcome
	o.books("requests through the API server", tr.api.Stop())
	if tr.straight != nil {
		o.books("calls straight to the Service", tr.straight.Stop())
	}
	made := sum(madeCalls(tr.l.apiServer(t))) - sum(madeCalls(tr.before))
	failed := tr.l.failedCalls(t, tr.before)
	o.figure("calls of the webhooks by the API server", "%.0f, failed %.0f%s", made, sum(failed), byName(failed))
	if sum(failed) > 0 {
		o.breaks("%.0f calls by the API server failed%s", sum(failed), byName(failed))
	}
	return o
}

// books records the results of a load. No call may be lost.
func (o *outcome) books(what string, b load.Books) {
	o.figure(what, "%d in %s, failed %d", b.Calls, b.Ended.Sub(b.Begun).Round(time.Second), b.Failures)
	if b.Failures > 0 {
		o.breaks("%s: %v", what, b)
	}
}

// apiServer reads the metrics of all API servers.
func (l *lab) apiServer(t *testing.T) metrics.Set {
	t.Helper()
	all := metrics.Set{}
	for _, config := range l.Configs() {
		api, err := kubernetes.NewForConfig(config)
		must(t, err)
		set, err := metrics.Read(t.Context(), api.CoreV1().RESTClient(), "/metrics")
		must(t, err)
		all.Add(set)
	}
	return all
}

// madeCalls returns the number of calls that the API server has made, including failed calls, by webhook.
func madeCalls(set metrics.Set) map[string]float64 {
	return evergates(set.By("name", "apiserver_admission_webhook_request_total", nil))
}

// evergates removes the counts of other webhooks.
func evergates(counts map[string]float64) map[string]float64 {
	maps.DeleteFunc(counts, func(name string, n float64) bool {
		return n == 0 || !strings.HasSuffix(name, ".evergate.dev")
	})
	return counts
}

// failedCalls returns how many calls have failed since before, open or closed, by webhook.
func (l *lab) failedCalls(t *testing.T, before metrics.Set) map[string]float64 {
	t.Helper()
	now := l.apiServer(t)
	failed := map[string]float64{}
	count := func(set metrics.Set, sign float64) {
		closed := map[string]string{"error_type": "calling_webhook_error"}
		for name, n := range set.By("name", "apiserver_admission_webhook_rejection_count", closed) {
			failed[name] += sign * n
		}
		for name, n := range set.By("name", "apiserver_admission_webhook_fail_open_count", nil) {
			failed[name] += sign * n
		}
	}
	count(now, 1)
	count(before, -1)
	return evergates(failed)
}

func sum(counts map[string]float64) (n float64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// byName lists counts sorted by name, in brackets.
func byName(counts map[string]float64) string {
	if len(counts) == 0 {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %.0f", name, counts[name]))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// writes returns the writes of clients of the API server. Of four requests, two create Pods, which must be rewritten,
// one creates an Ingress and one a Service. All are dry runs.
func (l *lab) writes(t *testing.T, namespace string) call {
	t.Helper()
	return writesAs(t, l.Config(), namespace, mirrored)
}

// writesAs is like writes, for a user whose Pods must get this image.
func writesAs(t *testing.T, config *rest.Config, namespace, image string) call {
	t.Helper()
	p := newWriterAs(t, config, "/api/v1/namespaces/"+namespace+"/pods", typed("v1", "Pod", pod("", written)))
	i := newWriterAs(t, config, "/apis/networking.k8s.io/v1/namespaces/"+namespace+"/ingresses",
		typed("networking.k8s.io/v1", "Ingress", ingress("", "a.apps.example")))
	s := newWriterAs(t, config, "/api/v1/namespaces/"+namespace+"/services", typed("v1", "Service", &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}))
	return func(ctx context.Context, n int64) error {
		switch n % 4 {
		case 0:
			return i.create(ctx, "")
		case 1:
			return s.create(ctx, "")
		default:
			return p.create(ctx, image)
		}
	}
}

// errNotRewritten means that a Pod was admitted without being rewritten.
var errNotRewritten = errors.New("a Pod was admitted and not rewritten")

// writer repeatedly creates one object as a dry run. The API server does the whole admission, and the client does
// almost nothing.
type writer struct {
	client *http.Client
	url    string
	body   []byte
}

func (l *lab) newWriter(t *testing.T, path string, body []byte) *writer {
	t.Helper()
	return newWriterAs(t, l.Config(), path, body)
}

func newWriterAs(t *testing.T, config *rest.Config, path string, body []byte) *writer {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	must(t, err)
	client.Timeout = time.Minute // longer than any request here takes, also on slow machines
	return &writer{client, config.Host + path + "?dryRun=All", body}
}

// create makes one request. The response must contain want.
func (w *writer) create(ctx context.Context, want string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(w.body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusCreated {
		var status metav1.Status
		_ = json.Unmarshal(answer, &status) // a body that is not a status is shown by its code
		return fmt.Errorf("%s: %s", resp.Status, status.Message)
	}
	if !bytes.Contains(answer, []byte(want)) {
		return errNotRewritten
	}
	return nil
}

// creates returns create as a call.
func (w *writer) creates(want string) call {
	return func(ctx context.Context, _ int64) error { return w.create(ctx, want) }
}

// typed returns an object with its type, in the form in which it is sent.
func typed(version, kind string, object runtime.Object) []byte {
	object.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // these types can always be marshaled
	}
	return text
}

// straight returns the calls of clients directly to the Service's ClusterIP, verified with the API server's CA. One
// call of two uses a new connection, which detects an endpoint that is removed too late or published too early. The
// other uses an open connection, which detects a connection that the server closes. straight returns nil if the
// ClusterIP cannot be reached from here.
func (l *lab) straight(t *testing.T) call {
	t.Helper()
	svc, err := l.api.CoreV1().Services(system).Get(t.Context(), "evergate", metav1.GetOptions{})
	must(t, err)
	address := net.JoinHostPort(svc.Spec.ClusterIP, "443")
	if !l.reaches(t, address) {
		t.Logf("%s cannot be reached from here: no calls straight to the Service", address)
		return nil
	}
	from := newPorts()
	kept, fresh := l.webhookClient(t, from, false), l.webhookClient(t, from, true)
	t.Cleanup(kept.CloseIdleConnections)
	url := "https://" + address + "/mutate/pods?timeout=3s"
	return func(ctx context.Context, n int64) error {
		// Pause as long as the start of curl takes. Otherwise, the handshakes would use the cores of all other
		// processes.
		pause(ctx, 20*time.Millisecond)
		if n%2 == 0 {
			return review(ctx, kept, url)
		}
		return review(ctx, fresh, url)
	}
}

// reaches reports whether a connection can be opened.
func (l *lab) reaches(t *testing.T, address string) bool {
	t.Helper()
	dialer := net.Dialer{Timeout: 5 * time.Second} // far longer than the network of one machine needs
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// webhookClient returns a client with the API server's CA and protocols.
func (l *lab) webhookClient(t *testing.T, from *ports, fresh bool) *http.Client {
	t.Helper()
	config, err := l.api.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "evergate",
		metav1.GetOptions{})
	must(t, err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(config.Webhooks[0].ClientConfig.CABundle) {
		t.Fatal("no CA was injected")
	}
	return &http.Client{
		Timeout: straightTimeout,
		Transport: &http.Transport{
			DialContext: from.dial, DisableKeepAlives: fresh, TLSHandshakeTimeout: straightTimeout,
			TLSNextProto:    map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only
			TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "evergate." + system + ".svc"},
		},
	}
}

// ports dials from a different local port each time. The kernel's connection table keeps connections to a lost node for
// five more minutes, together with the route to that node for a client with the same port. By itself, Linux reuses a
// port within a minute with so many new connections from one address. API servers keep their connections, so this
// almost never affects them.
type ports struct{ last atomic.Uint32 }

const (
	// They are below the default range of Linux (from 32768), and more than are used in five minutes.
	firstPort, somePorts = 10_000, 22_000
	// perSecond is more than two clients use: half of their calls, with a pause of 20 ms.
	perSecond = 70
)

// newPorts starts after the ports of the previous test.
func newPorts() *ports {
	p := new(ports)
	p.last.Store(uint32(time.Now().Unix() * perSecond % somePorts))
	return p
}

func (p *ports) dial(ctx context.Context, network, address string) (net.Conn, error) {
	for {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{Port: firstPort + int(p.last.Add(1)%somePorts)}}
		conn, err := dialer.DialContext(ctx, network, address)
		if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			return conn, err
		}
	}
}

// theReview is a minimal review of a Pod.
const theReview = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
"uid": "0d4a6ef6-6ee5-4d2b-a3b4-55a5a3e2b2d7", "operation": "CREATE", "namespace": "team-a",
"kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
"userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
"object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-", "namespace": "team-a"},
"spec": {"containers": [{"name": "c", "image": "` + written + `"}]}}}}`

// review makes one call and checks that the response contains a patch.
func review(ctx context.Context, client *http.Client, url string) error {
	var at progress
	req, err := http.NewRequestWithContext(at.follow(ctx), http.MethodPost, url, strings.NewReader(theReview))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", &at, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"patchType":"JSONPatch"`)) {
		return fmt.Errorf("%s: %.200s", resp.Status, answer)
	}
	return nil
}

// progress is how far a call has come, to explain why it was lost.
type progress struct {
	mu      sync.Mutex
	reached string
	got     bool // a connection was obtained; later events are about a connection that was dialed in advance
}

func (p *progress) follow(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectStart:      func(string, string) { p.reach("not connected", false) },
		TLSHandshakeStart: func() { p.reach("no end of the handshake", false) },
		GotConn: func(info httptrace.GotConnInfo) {
			if info.Reused {
				p.reach("no answer on a kept connection", true)
			} else {
				p.reach("no answer on a new connection", true)
			}
		},
	})
}

func (p *progress) reach(what string, got bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.got {
		p.reached, p.got = what, got
	}
}

func (p *progress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.reached, "no connection was asked for")
}

// settled is how long after the removal of an endpoint calls to it may still be lost. kube-proxy notices the removal
// within a second, each open connection to it costs one call of three seconds, and a busy machine is slow.
const settled = 20 * time.Second

// bounded is like stop, for an event in which connections cannot be closed properly. It reports the lost calls, but
// none may be lost later than some time after the endpoint was removed, or after the event.
func (tr *traffic) bounded(t *testing.T, begun, gone, over time.Time) outcome {
	t.Helper()
	lost := tr.stop(t)
	o := outcome{figures: lost.figures}
	books := []load.Books{tr.api.Books()}
	if tr.straight != nil {
		books = append(books, tr.straight.Books())
	}
	var during, after []time.Time
	for _, b := range books {
		for _, at := range b.Lost {
			if at.Before(over) {
				during = append(during, at)
			} else {
				after = append(after, at)
			}
		}
	}
	o.lastFailure(during, begun, gone)
	if len(after) > 0 {
		o.breaks("%d calls were lost when it was over, %s to %s after that: %v", len(after),
			slices.MinFunc(after, time.Time.Compare).Sub(over).Round(time.Second), slices.MaxFunc(after,
				time.Time.Compare).Sub(over).Round(time.Second), lost.broken)
	}
	return o
}

// lastFailure records when the last call was lost, which must not be long after the endpoint was removed.
func (o *outcome) lastFailure(lost []time.Time, begun, gone time.Time) {
	if len(lost) == 0 {
		o.figure("last failure", "none")
		return
	}
	last := slices.MaxFunc(lost, time.Time.Compare)
	o.figure("last failure", "%s after it began, %s after the endpoint was gone",
		last.Sub(begun).Round(100*time.Millisecond), last.Sub(gone).Round(100*time.Millisecond))
	if last.Sub(gone) > settled {
		o.breaks("calls were still lost %s after the endpoint was gone", last.Sub(gone).Round(time.Second))
	}
}
