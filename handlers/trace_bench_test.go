//go:build unix

package handlers

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/review/reviewtest"
	"github.com/evergate/evergate/telemetry"
)

// nowhere is an exporter that accepts everything.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }

const (
	tracedCaller   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	untracedCaller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

// BenchmarkTracing measures the cost of telemetry as ratios of CPU time to a review without telemetry: with only
// metrics and log (tracing "off"), with tracing that does not sample this review ("unsampled", with and without a
// client that sent a trace), and with this review traced, without exporting. The variants take short turns, and the
// medians of many turns are compared, because the speed of a machine varies over time. Use -benchtime 5000x for stable
// results.
func BenchmarkTracing(b *testing.B) {
	ways := []struct {
		name    string
		sampler sdktrace.Sampler // nil: tracing is off
		parent  string
	}{
		{"off", nil, ""},
		{"unsampled", sdktrace.ParentBased(sdktrace.AlwaysSample()), untracedCaller},
		{"unsampled-root", sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0)), ""},
		{"sampled", sdktrace.ParentBased(sdktrace.AlwaysSample()), tracedCaller},
	}
	for _, body := range reviewtest.Bodies() {
		if body.Resource != "pods" {
			continue
		}
		b.Run(body.Name, func(b *testing.B) {
			bare := newTurn(b, "", body.Data, func(f *fixture) http.Handler { return bareEndpoint(f) })
			turns := make([]*turn, len(ways))
			for i, way := range ways {
				turns[i] = newTurn(b, way.parent, body.Data, func(f *fixture) http.Handler {
					if way.sampler != nil {
						f.Tracing = f.Metrics.NewTracing(telemetry.TracingConfig{Exporter: nowhere{}, Sampler: way.sampler})
						b.Cleanup(func() { _ = f.Tracing.Stop(context.Background()) })
					}
					return servingOf(f.Config)
				})
			}
			for b.Loop() {
				bare.take(b)
				for _, t := range turns {
					t.take(b)
				}
			}
			b.ReportMetric(0, "ns/op") // the value for all variants together is meaningless
			b.ReportMetric(float64(bare.median().Nanoseconds())/perTurn/1e3, "bare-µs")
			for i, way := range ways {
				b.ReportMetric(float64(turns[i].median())/float64(bare.median()), way.name+"/bare")
			}
		})
	}
}

// bareEndpoint returns an endpoint behind the same router without telemetry: without metrics of reviews, log and spans.
func bareEndpoint(f *fixture) http.Handler {
	s, r := newServer(f.Config), router()
	for _, hook := range admission.Webhooks() {
		e := s.endpoint(hook)
		r.Method(http.MethodPost, hook.Path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v, err := e.review(http.NewResponseController(w), r, deadlinesOf(r, time.Now(), false), nil)
			if err != nil {
				writeError(w, err)
				return
			}
			_, _ = w.Write(v.encoded)
			_ = http.NewResponseController(w).Flush()
		}))
	}
	return r
}

// turn is one variant of answering reviews.
type turn struct {
	handler http.Handler
	request *http.Request
	data    []byte
	spent   []time.Duration // CPU time, by turn
}

// perTurn is the number of consecutive reviews. It is small, so most turns are not interrupted.
const perTurn = 20

func newTurn(b *testing.B, parent string, data []byte, handler func(*fixture) http.Handler) *turn {
	b.Helper()
	f := newFixture(b, benchPolicy())
	f.Log = slog.New(slog.DiscardHandler)
	r := httptest.NewRequest(http.MethodPost, "/mutate/pods?timeout=3s", nil)
	r.Header.Set("Content-Type", "application/json")
	if parent != "" {
		r.Header.Set("Traceparent", parent)
	}
	r.ContentLength = int64(len(data))
	return &turn{handler: handler(f), request: r, data: data}
}

// take answers reviews one after the other.
func (t *turn) take(b *testing.B) {
	b.Helper()
	w := &discard{header: http.Header{}}
	before := cpuTime(b)
	for range perTurn {
		t.request.Body = io.NopCloser(bytes.NewReader(t.data))
		t.handler.ServeHTTP(w, t.request)
	}
	t.spent = append(t.spent, cpuTime(b)-before)
	if w.status != 0 {
		b.Fatalf("answered %d", w.status)
	}
}

func (t *turn) median() time.Duration {
	slices.Sort(t.spent)
	return t.spent[len(t.spent)/2]
}

// cpuTime returns the CPU time of the process so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
