package handlers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

// collector keeps the spans that it receives.
type collector struct {
	mu    sync.Mutex
	spans []sdktrace.ReadOnlySpan
}

func (c *collector) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans = append(c.spans, spans...)
	return nil
}

func (*collector) Shutdown(context.Context) error { return nil }

// collect enables tracing of the fixture's reviews. The returned function returns the spans.
func (f *fixture) collect(t testing.TB, sampler sdktrace.Sampler) func() []sdktrace.ReadOnlySpan {
	t.Helper()
	c := &collector{}
	f.Tracing = f.Metrics.NewTracing(telemetry.TracingConfig{Exporter: c, Sampler: sampler})
	stop := sync.OnceFunc(func() {
		if err := f.Tracing.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return func() []sdktrace.ReadOnlySpan { stop(); return c.spans }
}

// tree formats spans as kind and name, indented below their parents, with their attributes below them.
func tree(spans []sdktrace.ReadOnlySpan) string {
	var b strings.Builder
	var write func(s sdktrace.ReadOnlySpan, indent string)
	write = func(s sdktrace.ReadOnlySpan, indent string) {
		fmt.Fprintf(&b, "%s%s %s\n", indent, s.SpanKind(), s.Name())
		for _, below := range spans {
			if below.Parent().SpanID() == s.SpanContext().SpanID() {
				write(below, indent+"  ")
			}
		}
	}
	for _, s := range spans {
		if s.SpanKind() == trace.SpanKindServer {
			write(s, "")
		}
	}
	return b.String()
}

// serverSpan returns the only span of a server.
func serverSpan(t testing.TB, spans []sdktrace.ReadOnlySpan) sdktrace.ReadOnlySpan {
	t.Helper()
	i := slices.IndexFunc(spans, func(s sdktrace.ReadOnlySpan) bool { return s.SpanKind() == trace.SpanKindServer })
	if i < 0 {
		t.Fatalf("there is no span of a server among %d", len(spans))
	}
	return spans[i]
}

// told returns the attributes of a span, except attributes that differ from call to call.
func told(s sdktrace.ReadOnlySpan) map[string]string {
	got := map[string]string{}
	for _, a := range s.Attributes() {
		switch a.Key {
		case "client.address", "server.address", "server.port", "user_agent.original", "http.request.body.size",
			"http.response.body.size", "evergate.time_left":
			continue
		}
		got[string(a.Key)] = a.Value.String()
	}
	return got
}

const tracedBy = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"

func TestTrace(t *testing.T) {
	http200 := map[string]string{
		"http.request.method": "POST", "http.response.status_code": "200", "network.protocol.version": "1.1",
		"url.scheme":                "https",
		"evergate.object.namespace": "team-a", "evergate.object.name": "shop", "evergate.uid": "705ab4f5",
		"evergate.operation": "CREATE", "evergate.dry_run": "false", "evergate.timeout": "3",
	}
	for _, tt := range []struct {
		path, body string
		want       map[string]string // in addition to http200
	}{
		{"/mutate/pods", reviewOf("", "pods", "CREATE", podOf("nginx"), ""), map[string]string{
			"evergate.outcome": "rewritten", "evergate.object.resource": "v1/pods",
			"evergate.images_rewritten": "1", "evergate.images": `["nginx → mirror.corp.example/docker.io/library/nginx"]`,
		}},
		{"/validate/pods", reviewOf("", "pods", "CREATE", podOf("nginx"), ""), map[string]string{
			"evergate.outcome": "denied", "evergate.object.resource": "v1/pods",
			"evergate.findings": "1", "evergate.rules": `["only-mirrors/images.from"]`,
		}},
		{"/validate/ingresses", reviewOf("networking.k8s.io", "ingresses", "CREATE",
			ingressOf("shop.apps.corp.example"), ""), map[string]string{
			"evergate.outcome": "allowed", "evergate.object.resource": "networking.k8s.io/v1/ingresses",
		}},
		{"/validate/services", reviewOf("", "services", "CREATE", `{"spec":{"type":"NodePort"}}`, ""), map[string]string{
			"evergate.outcome": "allowed", "evergate.object.resource": "v1/services",
			"evergate.findings": "1", "evergate.rules": `["no-public-entry/types.allowed"]`,
		}},
	} {
		t.Run(strings.TrimPrefix(tt.path, "/"), func(t *testing.T) {
			f := newFixture(t, testPolicy)
			spans := f.collect(t, nil)
			s := startTLS(t, servingOf(f.Config))
			req := post(t.Context(), t, s.URL+tt.path+"?timeout=3s", tt.body)
			req.Header.Set("traceparent", tracedBy+"01")
			if got := send(t, s.Client(), req); got.status != 200 {
				t.Fatalf("answered %d %s", got.status, got.body)
			}
			s.Close() // returns when the handler has returned
			want := "server POST " + tt.path + "\n" +
				"  internal read body\n  internal wait for slot\n  internal decode\n  internal decide\n  internal encode\n" +
				"  internal write\n"
			equal(t, want, tree(spans()), "spans")
			span := serverSpan(t, spans())
			if p := span.Parent(); p.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" ||
				p.SpanID().String() != "b7ad6b7169203331" || !p.IsRemote() {
				t.Errorf("the parent is %v", p)
			}
			if span.Status().Code != codes.Unset {
				t.Errorf("status %v: an answer is no error", span.Status())
			}
			attrs := map[string]string{"http.route": tt.path, "url.path": tt.path,
				"evergate.policy": f.Policies.Current().Hash()}
			for _, m := range []map[string]string{http200, tt.want} {
				maps.Copy(attrs, m)
			}
			equal(t, attrs, told(span), "attributes")
		})
	}
}

// A call that could not be answered is an error with a reason.
func TestTraceOfFailures(t *testing.T) {
	busy := func(f *fixture) http.Handler {
		f.Limits.Reviews = 1
		s := newServer(f.Config)
		if _, err := s.reviews.slots.Acquire(t.Context(), time.Now(), "", nil); err != nil {
			t.Fatal(err)
		}
		return s.serving(f.Config, admission.Webhooks())
	}
	broken := func(f *fixture) http.Handler {
		s := newServer(f.Config)
		return s.serving(f.Config, []admission.Webhook{fakeWebhook("/validate/services", panics, policy.Enforce)})
	}
	review := reviewOf("", "services", "CREATE", `{"spec":{"type":"NodePort"}}`, "")
	for _, tt := range []struct {
		name    string
		handler func(*fixture) http.Handler
		body    string
		status  int
		outcome string
		kind    string
		why     string
	}{
		{"no review", nil, `{"secret":"s3cret"}`, 400, "invalid", "invalid",
			"apiVersion is missing, want admission.k8s.io/v1"},
		{"overload", busy, review, 429, "rejected", "reviews_timed_out", "overloaded: no room for more reviews"},
		{"panic", broken, review, 500, "panicked", "panicked", "panic: index out of range [7]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, testPolicy)
			spans := f.collect(t, nil)
			handler := servingOf
			if tt.handler != nil {
				handler = func(Config) http.Handler { return tt.handler(f) }
			}
			s := startTLS(t, handler(f.Config))
			answer := send(t, s.Client(), post(t.Context(), t, s.URL+"/validate/services?timeout=1s", tt.body))
			if answer.status != tt.status {
				t.Fatalf("answered %d %s, want %d", answer.status, answer.body, tt.status)
			}
			s.Close()
			span := serverSpan(t, spans())
			if got := span.Status(); got.Code != codes.Error || got.Description != tt.why {
				t.Errorf("status %v %q, want an error and %q", got.Code, got.Description, tt.why)
			}
			got := told(span)
			for k, want := range map[string]string{
				"error.type": tt.kind, "evergate.outcome": tt.outcome, "http.response.status_code": fmt.Sprint(tt.status),
			} {
				if got[k] != want {
					t.Errorf("%s is %q, want %q", k, got[k], want)
				}
			}
		})
	}
}

// An untraced review does not create spans, and gets the same response.
func TestUntraced(t *testing.T) {
	for name, tt := range map[string]struct {
		sampler sdktrace.Sampler
		parent  string
	}{
		"by the client's decision": {nil, tracedBy + "00"},
		"by ratio":                 {sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0)), ""},
		"by nonsense":              {sdktrace.ParentBased(sdktrace.NeverSample()), "00-nonsense-01"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, testPolicy)
			spans := f.collect(t, tt.sampler)
			s := startTLS(t, servingOf(f.Config))
			req := post(t.Context(), t, s.URL+"/validate/pods", reviewOf("", "pods", "CREATE", podOf("nginx"), ""))
			if tt.parent != "" {
				req.Header.Set("traceparent", tt.parent)
			}
			if got := send(t, s.Client(), req); got.status != 200 || !strings.Contains(got.body, `"allowed":false`) {
				t.Errorf("answered %d %s", got.status, got.body)
			}
			s.Close()
			if n := len(spans()); n != 0 {
				t.Errorf("%d spans", n)
			}
			logged := strings.Contains(f.log.String(), "trace_id=0af7651916cd43dd8448eb211c80319c")
			if logged != strings.HasPrefix(tt.parent, tracedBy) {
				t.Errorf("the log, of a client in the trace %q:\n%s", tt.parent, f.log)
			}
		})
	}
}

// The reviews of the self-probe are not traffic.
func TestSelfProbeIsNotTraced(t *testing.T) {
	f := newFixture(t, testPolicy)
	spans := f.collect(t, sdktrace.AlwaysSample())
	f.SelfProbe = newProber(t)
	s := startTLS(t, servingOf(f.Config))
	if err := f.SelfProbe.Check(t.Context(), s.Client(), s.URL); err != nil {
		t.Error(err)
	}
	s.Close()
	if n := len(spans()); n != 0 {
		t.Errorf("%d spans", n)
	}
}

// A slow bucket, and a denial in the log, contain the ID of the trace.
func TestWaysToATrace(t *testing.T) {
	f := newFixture(t, testPolicy)
	spans := f.collect(t, nil)
	s, ops := startTLS(t, servingOf(f.Config)), startTLS(t, opsOf(f.Config))
	send(t, s.Client(), post(t.Context(), t, s.URL+"/validate/pods", reviewOf("", "pods", "CREATE", podOf("nginx"), "")))
	s.Close()
	id := serverSpan(t, spans()).SpanContext().TraceID().String()
	want := " user=jane rules=[only-mirrors/images.from] policy=" + f.Policies.Current().Hash() + " trace_id=" + id + "\n"
	if !strings.Contains(f.log.String(), want) {
		t.Errorf("the log has no %q:\n%s", want, f.log)
	}
	req := get(t, ops.URL+"/metrics")
	req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	if got := send(t, ops.Client(), req); !strings.Contains(got.body, `# {trace_id="`+id+`"} `) {
		t.Errorf("no bucket has the trace %s as its example:\n%s", id, got.body)
	}
}

// A wait for memory is a separate span.
func TestTraceOfWaitingForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = 500 * time.Millisecond
		f, e := fakeMemory(t, 100)
		spans := f.collect(t, nil)
		e.telemetry = f.Metrics.Endpoint(&e.Webhook, f.Tracing, f.Log)
		first := e.capacity.memory.Reserve(func() {})
		must(t, first.Grow(t.Context(), time.Now().Add(time.Second), 100, nopWait))
		must(t, first.Arrived())
		observed := e.telemetry.Begin(post(t.Context(), t, "/fake", "{}"), time.Now(), time.Second)
		observed.Stage("read body")
		done := make(chan error)
		go func() {
			second := e.capacity.memory.Reserve(func() {})
			defer second.Release()
			r := post(t.Context(), t, "/fake", strings.Repeat("x", 50))
			_, err := e.readBody(t.Context(), r, time.Now().Add(time.Second), second, observed)
			done <- err
		}()
		<-time.After(wait)
		first.Release()
		must(t, <-done)
		observed.Answer(telemetry.Result{Failure: &telemetry.Failure{Outcome: telemetry.Invalid}})
		observed.End()
		want := "server POST /fake\n  internal read body\n    internal wait for memory\n  internal write\n"
		equal(t, want, tree(spans()), "spans")
		for _, s := range spans() {
			if took := s.EndTime().Sub(s.StartTime()); s.Name() == "wait for memory" && took != wait {
				t.Errorf("it waited for %s, and its span lasts %s", wait, took)
			}
		}
	})
}

// broken is an exporter that fails or blocks in every call.
type broken struct{ hang bool }

func (b broken) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	if b.hang {
		<-ctx.Done()
	}
	return errors.New("connection refused")
}

func (broken) Shutdown(context.Context) error { return errors.New("connection refused") }

// Whatever happens to spans, reviews get the same response as without them: the same bytes, without a wait.
func TestReviewsDoNotCareForTheirSpans(t *testing.T) {
	bodies := map[string]string{
		"/mutate/pods":        reviewOf("", "pods", "CREATE", podOf("nginx"), ""),
		"/validate/pods":      reviewOf("", "pods", "CREATE", podOf("nginx"), ""),
		"/validate/services":  "{}",
		"/validate/ingresses": reviewOf("networking.k8s.io", "ingresses", "CREATE", ingressOf("shop.apps.corp.example"), ""),
	}
	for name, exporter := range map[string]sdktrace.SpanExporter{"hangs": broken{hang: true}, "fails": broken{}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plain, traced := newFixture(t, testPolicy), newFixture(t, testPolicy)
				traced.Tracing = traced.Metrics.NewTracing(telemetry.TracingConfig{Exporter: exporter, QueueSize: 20})
				h, hTraced := servingOf(plain.Config), servingOf(traced.Config)
				start := time.Now()
				for range 50 {
					for path, body := range bodies {
						if diff := cmp.Diff(record(t, h, path, body), record(t, hTraced, path, body)); diff != "" {
							t.Fatalf("%s (-plain +traced):\n%s", path, diff)
						}
					}
				}
				if waited := time.Since(start); waited != 0 {
					t.Errorf("they waited for %s", waited)
				}
				if dropped := traced.series(t, "evergate_spans_dropped_total"); dropped["reason=queue_full"] == 0 {
					t.Errorf("dropped: %v", dropped)
				}
				_ = traced.Tracing.Stop(t.Context())
			})
		})
	}
}

// record returns the response of a handler.
func record(t testing.TB, h http.Handler, path, body string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, post(t.Context(), t, path, body))
	return fmt.Sprint(w.Code, w.Header(), w.Body)
}

// Text from clients is truncated before it waits in memory for the export of its span, and before it is in a response.
func TestTraceOfLongTexts(t *testing.T) {
	const long = 1 << 20
	f := newFixture(t, "")
	spans := f.collect(t, sdktrace.AlwaysSample())
	h := servingOf(f.Config)
	name := strings.Repeat("n", long)
	record(t, h, "/validate/pods", strings.Replace(reviewOf("", "pods", "CREATE", podOf("nginx"), ""),
		`"name":"shop","namespace"`, `"name":"`+name+`","namespace"`, 1))
	answer := record(t, h, "/validate/pods", `{"apiVersion":"admission.k8s.io/v1","kind":"`+name+`"}`)
	if len(answer) > 1000 {
		t.Errorf("the answer has %d bytes", len(answer))
	}
	for _, s := range spans() {
		if n := len(s.Status().Description); n > admission.MaxSentence {
			t.Errorf("%s: the status has %d bytes", s.Name(), n)
		}
		for _, a := range s.Attributes() {
			if n := len(a.Value.String()); n > 2*admission.MaxSentence {
				t.Errorf("%s: %s has %d bytes", s.Name(), a.Key, n)
			}
		}
	}
}
