package telemetry_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/logtest"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/telemetry"
)

// fakeCollector is an exporter that a test controls.
type fakeCollector struct {
	export func(context.Context) error // nil accepts everything

	mu    sync.Mutex
	taken []sdktrace.ReadOnlySpan
}

func (c *fakeCollector) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if c.export != nil {
		if err := c.export(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = append(c.taken, spans...)
	return nil
}

func (*fakeCollector) Shutdown(context.Context) error { return nil }

// names returns the names of the accepted spans.
func (c *fakeCollector) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, s := range c.taken {
		names = append(names, s.Name())
	}
	return names
}

// hangs is a collector that accepts connections and never responds.
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// traced is tracing to a collector, with its metrics and its log.
type traced struct {
	*telemetry.Tracing
	registry *prometheus.Registry
	log      *logtest.Recorder
}

func newTraced(cfg telemetry.TracingConfig) traced {
	t := traced{registry: prometheus.NewRegistry()}
	cfg.Log, t.log = logtest.New()
	t.Tracing = telemetry.NewMetrics(t.registry).NewTracing(cfg)
	return t
}

// endpointOf returns what reports the reviews of /mutate/pods.
func endpointOf(m *telemetry.Metrics, t *telemetry.Tracing) *telemetry.Endpoint {
	for _, w := range admission.Webhooks() {
		if w.Path == "/mutate/pods" {
			return m.Endpoint(&w, t, slog.New(slog.DiscardHandler))
		}
	}
	return nil
}

// begin begins a review.
func (t traced) begin(r *http.Request) *telemetry.Review {
	metrics := telemetry.NewMetrics(prometheus.NewRegistry())
	return endpointOf(metrics, t.Tracing).Begin(r, time.Now(), 3*time.Second)
}

// end ends a review with a decision.
func end(v *telemetry.Review, d *admission.Decision) {
	v.Answer(telemetry.Result{Decision: d})
	v.End()
}

func request() *http.Request {
	return httptest.NewRequest(http.MethodPost, "/mutate/pods?timeout=3s", nil)
}

// review creates the span of one review and the span of its stage write.
func (t traced) review() { end(t.begin(request()), &admission.Decision{}) }

// became returns how many spans were exported and how many were dropped, by reason.
func (t traced) became(tb testing.TB) map[string]float64 {
	tb.Helper()
	got := map[string]float64{}
	families, err := t.registry.Gather()
	must(tb, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch f.GetName() {
			case "evergate_spans_exported_total":
				if n := m.GetCounter().GetValue(); n > 0 {
					got["exported"] = n
				}
			case "evergate_spans_dropped_total":
				if n := m.GetCounter().GetValue(); n > 0 {
					got[m.GetLabel()[0].GetValue()] = n
				}
			}
		}
	}
	return got
}

func (t traced) check(tb testing.TB, what string, want map[string]float64) {
	tb.Helper()
	if diff := cmp.Diff(want, t.became(tb)); diff != "" {
		tb.Errorf("%s: spans (-want +got):\n%s", what, diff)
	}
}

// Spans that have ended before the process begins to stop reach the collector.
func TestStopFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeCollector{}
		tr := newTraced(telemetry.TracingConfig{Exporter: c})
		tr.review()
		tr.PhaseChanged("ready", "draining", time.Hour, 7)
		if err := tr.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"write", "POST /mutate/pods", "phase draining"}, c.names()); diff != "" {
			t.Errorf("exported (-want +got):\n%s", diff)
		}
		tr.check(t, "stopped", map[string]float64{"exported": 3})
		tr.review() // late, and harmless
		tr.PhaseChanged("stopping", "stopped", time.Second, 0)
		tr.check(t, "afterwards", map[string]float64{"exported": 3})
	})
}

// A collector that hangs does not delay reviews and does not delay the end beyond the deadline. Every lost span is
// counted.
func TestCollectorHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTraced(telemetry.TracingConfig{Exporter: &fakeCollector{export: hangs}, QueueSize: 10})
		start := time.Now()
		tr.review()
		synctest.Wait()
		time.Sleep(6 * time.Second) // they are being exported
		for range 20 {
			tr.review()
		}
		if waited := time.Since(start) - 6*time.Second; waited != 0 {
			t.Errorf("reviews waited for %s", waited)
		}
		tr.check(t, "hanging", map[string]float64{"queue_full": 32})
		before := time.Now()
		err := tr.Stop(t.Context())
		if took := time.Since(before); took != 3*time.Second {
			t.Errorf("stopping took %s, want 3s", took)
		}
		if err == nil || !strings.Contains(err.Error(), "flush spans: 10 were lost: ") {
			t.Errorf("Stop returns %v", err)
		}
		tr.check(t, "stopped", map[string]float64{"queue_full": 32, "stopping": 10})
	}) // synctest waits for the export that hangs
}

// The deadline of the context of Stop also applies.
func TestStopMinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTraced(telemetry.TracingConfig{Exporter: &fakeCollector{export: hangs}})
		tr.review()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := tr.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop returns %v", err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("stopping took %s, want 1s", took)
		}
	})
}

// Losses to an absent collector are logged once a minute, with their number. Its return is not logged.
func TestCollectorIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away error
		absent := func(context.Context) error { return away }
		tr := newTraced(telemetry.TracingConfig{Exporter: &fakeCollector{export: absent}})
		minute := func(what string, want ...string) {
			t.Helper()
			for range 60 {
				tr.review()
				time.Sleep(time.Second)
			}
			synctest.Wait()
			if diff := cmp.Diff(want, tr.log.Take()); diff != "" {
				t.Errorf("%s: log (-want +got):\n%s", what, diff)
			}
		}
		time.Sleep(time.Millisecond) // no review ends at the moment of an export
		minute("in good order")
		away = errors.New("connection refused")
		minute("away", `level=WARN msg="spans were dropped" spans=10 error="connection refused"`)
		minute("still away", `level=WARN msg="spans were dropped" spans=120 error="connection refused"`)
		away = nil
		minute("back", `level=WARN msg="spans were dropped" spans=110`)
		minute("in good order again")
		if err := tr.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		tr.check(t, "in the end", map[string]float64{"exported": 360, "export_failed": 240})
	})
}

// A slow collector accepts as many spans as it can, and the others are counted.
func TestCollectorIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Second):
				return nil
			}
		}
		tr := newTraced(telemetry.TracingConfig{Exporter: &fakeCollector{export: slow}, QueueSize: 10})
		for range 300 {
			tr.review()
			time.Sleep(time.Second)
		}
		_ = tr.Stop(t.Context())
		var sum float64
		got := tr.became(t)
		for _, n := range got {
			sum += n
		}
		if sum != 600 || got["exported"] == 0 || got["queue_full"] == 0 {
			t.Errorf("of 600 spans became %v", got)
		}
	})
}

// Phases are always traced, whatever part of reviews is traced, each in a separate trace.
func TestPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeCollector{}
		tr := newTraced(telemetry.TracingConfig{Exporter: c, Sampler: sdktrace.NeverSample()})
		tr.review()
		tr.PhaseChanged("ready", "draining", 90*time.Minute, 7)
		tr.PhaseChanged("draining", "stopping", 12*time.Second, 0)
		must(t, tr.Stop(t.Context()))
		if diff := cmp.Diff([]string{"phase draining", "phase stopping"}, c.names()); diff != "" {
			t.Fatalf("exported (-want +got):\n%s", diff)
		}
		want := []attribute.KeyValue{
			attribute.String("evergate.phase.from", "ready"), attribute.String("evergate.phase.to", "draining"),
			attribute.Float64("evergate.phase.duration", 5400), attribute.Int("evergate.phase.open_connections", 7),
		}
		span := c.taken[0]
		equal := cmp.Comparer(func(a, b attribute.Value) bool { return a == b })
		if diff := cmp.Diff(want, span.Attributes(), equal); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		if span.Parent().IsValid() || span.SpanContext().TraceID() == c.taken[1].SpanContext().TraceID() {
			t.Error("a phase is not in a separate trace")
		}
	})
}

// The address and the port that the client has called are in separate attributes.
func TestServerAttributes(t *testing.T) {
	for host, want := range map[string][]string{
		"evergate.evergate-system.svc:443": {"evergate.evergate-system.svc", "443"},
		"10.0.0.7:10250":                   {"10.0.0.7", "10250"},
		"[fd00::7]:10250":                  {"fd00::7", "10250"},
		"evergate":                         {"evergate", "443"},
		"[fd00::7]":                        {"fd00::7", "443"},
		"evergate:https":                   {"evergate:https", "443"}, // clients do not send it
		"evergate:65536":                   {"evergate", ""},
		"":                                 {"", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &fakeCollector{}
			tr := newTraced(telemetry.TracingConfig{Exporter: c})
			r := request()
			r.Host, r.TLS = host, &tls.ConnectionState{}
			end(tr.begin(r), &admission.Decision{})
			must(t, tr.Stop(t.Context()))
			got := []string{"", ""}
			for _, a := range c.taken[1].Attributes() {
				switch a.Key {
				case "server.address":
					got[0] = a.Value.AsString()
				case "server.port":
					got[1] = strconv.FormatInt(a.Value.AsInt64(), 10)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q: address and port (-want +got):\n%s", host, diff)
			}
		})
	}
}

// A span stays small, however long its values are.
func TestAttributesAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeCollector{}
		tr := newTraced(telemetry.TracingConfig{Exporter: c})
		long := strings.Repeat("x", 1<<20)
		d := &admission.Decision{Head: review.Head{UID: long}, Findings: []policy.Finding{{Rule: long}}}
		d.Name, d.Namespace, d.Operation, d.Subresource = long, long, object.Operation(long), long
		d.Rewriting.Images = []policy.ImageOutcome{{Outcome: policy.Rewritten, Image: object.Image{Ref: long}, To: long}}
		end(tr.begin(request()), d)
		must(t, tr.Stop(t.Context()))
		for _, a := range c.taken[1].Attributes() {
			if n := len(a.Value.String()); n > 1100 {
				t.Errorf("%s has %d bytes", a.Key, n)
			}
		}
	})
}

// Without tracing, every call is valid and does nothing.
func TestNoTracing(t *testing.T) {
	var tr *telemetry.Tracing
	tr.PhaseChanged("starting", "listening", 0, 0)
	v := endpointOf(telemetry.NewMetrics(prometheus.NewRegistry()), nil).Begin(request(), time.Now(), time.Second)
	v.Stage("decode")
	v.Waiting("memory")()
	end(v, &admission.Decision{})
	if v.Traced() {
		t.Error("there is a span")
	}
	if err := tr.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTraceIDOfTheCaller(t *testing.T) {
	for header, want := range map[string]string{
		"": "",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00": "0af7651916cd43dd8448eb211c80319c",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": "0af7651916cd43dd8448eb211c80319c",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01": "",
		"x\r\ny": "",
	} {
		r := request()
		if header != "" {
			r.Header.Set("traceparent", header)
		}
		v := endpointOf(telemetry.NewMetrics(prometheus.NewRegistry()), nil).Begin(r, time.Now(), time.Second)
		if got := v.LoggedTrace(); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// If a header does not contain a trace, its sampled flag does not count: the review is the first of its trace.
func TestNoTraceIsNotUnsampled(t *testing.T) {
	tr := newTraced(telemetry.TracingConfig{Exporter: &fakeCollector{}})
	for header, want := range map[string]bool{
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00": false,
		"00-00000000000000000000000000000000-b7ad6b7169203331-00": true,
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-00": true,
		"00-0af7651916cd43dd8448eb211c80319C-b7ad6b7169203331-00": true,
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00": true,
		"00-0af7651916cd43dd8448eb211c80319c+b7ad6b7169203331-00": true,
		"00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-00": true,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333--00": true,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": true,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02": false, // another flag
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00": false, // a later version
	} {
		r := request()
		r.Header.Set("traceparent", header)
		if got := tr.begin(r).Traced(); got != want {
			t.Errorf("%s: traced %t, want %t", header, got, want)
		}
	}
	if err := tr.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// A sampler is called once, whatever its criteria are, and its decision counts: no sampled review is dropped.
func TestSamplers(t *testing.T) {
	const (
		unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
		sampled   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	)
	part := sdktrace.TraceIDRatioBased(0.6) // this part contains that trace
	for _, tt := range []struct {
		name                     string
		sampler                  sdktrace.Sampler
		root, unsampled, sampled int // of 1000; 600 is approximate
	}{
		{"the default", nil, 1000, 0, 1000},
		{"always_on", sdktrace.AlwaysSample(), 1000, 1000, 1000},
		{"parentbased_always_off", sdktrace.ParentBased(sdktrace.NeverSample()), 0, 0, 1000},
		{"parentbased_traceidratio", sdktrace.ParentBased(part), 600, 0, 1000},
		{"traceidratio", part, 600, 1000, 1000},
	} {
		tr := newTraced(telemetry.TracingConfig{Exporter: &fakeCollector{}, Sampler: tt.sampler})
		for parent, want := range map[string]int{"": tt.root, unsampled: tt.unsampled, sampled: tt.sampled} {
			r := request()
			if parent != "" {
				r.Header.Set("traceparent", parent)
			}
			var n int
			for range 1000 {
				if tr.begin(r).Traced() {
					n++
				}
			}
			if want == 600 && 500 < n && n < 700 { // six standard deviations
				continue
			}
			if n != want {
				t.Errorf("%s, parent %q: %d of 1000 are traced, want %d", tt.name, parent, n, want)
			}
		}
		if err := tr.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// must fails the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
