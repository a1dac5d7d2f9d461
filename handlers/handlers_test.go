package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/limit"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

// fixture is a configuration that makes everything observable.
type fixture struct {
	Config
	registry *prometheus.Registry
	log      *logBuffer
}

func newFixture(t testing.TB, policyText string) *fixture {
	t.Helper()
	reg := prometheus.NewRegistry()
	log := &logBuffer{}
	ok := func() error { return nil }
	return &fixture{
		Config: Config{
			Policies:     fixed{loadPolicy(t, policyText)},
			PolicyStatus: func() any { return map[string]string{"hash": "0123456789ab"} },
			Ready:        ok,
			Live:         ok,
			Metrics:      telemetry.NewMetrics(reg),
			Scrape:       telemetry.Scrape(reg, slog.New(slog.DiscardHandler)),
			Log:          log.logger(slog.LevelInfo),
		},
		registry: reg,
		log:      log,
	}
}

type fixed struct{ p *policy.Policy }

func (f fixed) Current() *policy.Policy { return f.p }

func loadPolicy(t testing.TB, text string) *policy.Policy {
	t.Helper()
	var files []policy.File
	if text != "" {
		files = append(files, policy.File{Name: "test.yaml",
			Data: []byte("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + text)})
	}
	p, err := policy.Load(files...)
	if err != nil {
		t.Fatalf("the test's policy: %v", err)
	}
	return p
}

// logBuffer keeps the log, without times.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *logBuffer) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// servingOf returns the handler of the port that kube-apiserver calls.
func servingOf(cfg Config) http.Handler {
	serving, _ := New(cfg)
	return serving
}

// opsOf returns the handler of the platform team's port.
func opsOf(cfg Config) http.Handler {
	_, ops := New(cfg)
	return ops
}

// series returns the counters and gauges with a name, by their labels in the form {a="1",b="2"}.
func (f *fixture) series(t testing.TB, name string) map[string]float64 {
	t.Helper()
	families, err := f.registry.Gather()
	must(t, err)
	got := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			got[strings.Join(labels, " ")] = value
		}
	}
	return got
}

// counted returns the counters with a name whose value is not 0.
func (f *fixture) counted(t testing.TB, name string) map[string]float64 {
	t.Helper()
	got := f.series(t, name)
	maps.DeleteFunc(got, func(_ string, n float64) bool { return n == 0 })
	return got
}

// startTLS serves h on a new TLS listener.
func startTLS(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// answered is a response to a client.
type answered struct {
	status int
	header http.Header
	body   string
}

func send(t testing.TB, client *http.Client, req *http.Request) answered {
	t.Helper()
	resp, err := client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.Close {
		resp.Header.Set("Connection", "close") // the client's transport removes it
	}
	return answered{resp.StatusCode, resp.Header, string(body)}
}

func get(t testing.TB, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	return req
}

func post(ctx context.Context, t testing.TB, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	must(t, err)
	req.Header.Set("Content-Type", "application/json")
	return req
}

func TestProbes(t *testing.T) {
	f := newFixture(t, "")
	var live, ready error
	f.Live = func() error { return live }
	f.Ready = func() error { return ready }
	for name, h := range map[string]http.Handler{"serving": servingOf(f.Config), "ops": opsOf(f.Config)} {
		t.Run(name, func(t *testing.T) {
			s := startTLS(t, h)
			check := func(path string, status int, body string) {
				t.Helper()
				got := send(t, s.Client(), get(t, s.URL+path))
				if got.status != status || got.body != body {
					t.Errorf("%s: %d %q, want %d %q", path, got.status, got.body, status, body)
				}
			}
			live, ready = nil, nil
			check("/livez", 200, "ok\n")
			check("/readyz", 200, "ok\n")
			live, ready = errors.New("the self-probe hangs"), errors.New("draining")
			check("/livez", 503, "the self-probe hangs\n")
			check("/readyz", 503, "draining\n")
		})
	}
}

func TestOps(t *testing.T) {
	f := newFixture(t, "")
	f.Metrics.PolicyLoaded("0123456789ab", policy.Counts{Pods: 2}, nil)
	s := startTLS(t, opsOf(f.Config))

	got := send(t, s.Client(), get(t, s.URL+"/policy"))
	equal(t, "{\n  \"hash\": \"0123456789ab\"\n}\n", got.body, "/policy")
	if ct := got.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("/policy has Content-Type %q", ct)
	}

	req := get(t, s.URL+"/metrics")
	req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	got = send(t, s.Client(), req)
	if !strings.Contains(got.body, "evergate_policy_info{hash=\"0123456789ab\"} 1.0\n") ||
		!strings.HasSuffix(got.body, "# EOF\n") {
		t.Errorf("/metrics is not OpenMetrics with the policy's hash:\n%s", got.body)
	}
}

// The API server tries again only if the review can be served a moment later or by another replica.
func TestRetryAfter(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
		want   string
	}{
		{shed(context.Canceled, "reviews"), http.StatusServiceUnavailable, "1"},
		{shed(context.DeadlineExceeded, "reviews"), http.StatusTooManyRequests, "1"},
		{shed(limit.ErrEvicted, bodyBytes), http.StatusTooManyRequests, "1"},
		{errors.New("a defect"), http.StatusInternalServerError, ""},
		{&httpError{status: http.StatusBadRequest}, http.StatusBadRequest, ""},
	} {
		rec := httptest.NewRecorder()
		writeError(rec, test.err)
		if got := rec.Header().Get("Retry-After"); rec.Code != test.status || got != test.want {
			t.Errorf("%v: %d, Retry-After %q, want %d and %q", test.err, rec.Code, got, test.status, test.want)
		}
	}
}

func TestIsProbe(t *testing.T) {
	for path, want := range map[string]bool{
		"/livez": true, "/readyz": true, "/": false, "/livez/": false, "/metrics": false, "/validate/pods": false,
	} {
		if got := IsProbe(httptest.NewRequest(http.MethodGet, path, nil)); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}

// A body stays in its buffer until its review has been decided, and no other review is read into the buffer.
func TestBodyIsKeptWhileItIsDecided(t *testing.T) {
	f := newFixture(t, "")
	s := newServer(f.Config)
	var h http.Handler
	review := func(body string) {
		r := httptest.NewRequest(http.MethodPost, "/fake", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	first := true
	w := fakeWebhook("/fake", nil, policy.Enforce)
	w.Evaluate = func(
		_ *policy.Policy, body []byte, _ time.Time, _ *policy.Effort, _ admission.Stage,
	) (*admission.Decision, error) {
		if first {
			first = false
			for range 10 { // with the race detector, sync.Pool drops some elements
				review("[2]")
			}
			if string(body) != "[1]" {
				t.Errorf("the body is now %s", body)
			}
		}
		return new(admission.Decision), nil
	}
	h = s.serving(f.Config, []admission.Webhook{w})
	review("[1]")
}

// The largest body of a review always fits, whatever the flag is. A longer body is rejected.
func TestLargestBody(t *testing.T) {
	for flag, want := range map[int64]int64{0: 64 << 20, 1: maxReviewBytes, 1 << 30: 1 << 30} {
		if got := (Limits{BodyBytes: flag}).withDefaults().BodyBytes; got != want {
			t.Errorf("%d: %d, want %d", flag, got, want)
		}
	}
	for length, want := range map[int64]bool{maxDiscardBytes: true, maxDiscardBytes + 1: false} {
		r := &http.Request{Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: length}
		if err := checkHeader(r); (err == nil) != want {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

// A span contains the first ten checks and images, and the number of all.
func TestSpanNamesTheFirst(t *testing.T) {
	d := &admission.Decision{}
	for i := range admission.Shown + 1 {
		f := policy.Finding{Rule: fmt.Sprint("rule-", i), Check: "c"}
		d.Findings = append(d.Findings, f, f)
		d.Rewriting.Images = append(d.Rewriting.Images, policy.ImageOutcome{Outcome: policy.Rewritten})
	}
	f := newFixture(t, "")
	spans := f.collect(t, nil)
	tell(newServer(f.Config).endpoint(admission.Webhooks()[0]), post(t.Context(), t, "/mutate/pods", "{}"), d, nil)
	values := map[attribute.Key]attribute.Value{}
	for _, s := range spans() {
		for _, a := range s.Attributes() {
			values[a.Key] = a.Value
		}
	}
	if ids := values["evergate.rules"].AsStringSlice(); len(ids) != admission.Shown || ids[1] != "rule-1/c" {
		t.Errorf("rules %v", ids)
	}
	images, n := values["evergate.images"].AsStringSlice(), values["evergate.images_rewritten"].AsInt64()
	if len(images) != admission.Shown || n != admission.Shown+1 {
		t.Errorf("%d images, %d of them listed", n, len(images))
	}
}

// must fails the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal reports the difference between two values. about precedes it, for example the name of a case.
func equal[T any](t testing.TB, want, got T, about ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprint(about...), diff)
	}
}
