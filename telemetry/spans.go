package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// spanMetrics tell what became of spans.
type spanMetrics struct {
	exported prometheus.Counter
	dropped  *prometheus.CounterVec
}

func newSpanMetrics(f promauto.Factory) spanMetrics {
	return spanMetrics{
		exported: f.NewCounter(prometheus.CounterOpts{
			Name: "evergate_spans_exported_total",
			Help: "Spans that the collector took.",
		}),
		dropped: f.NewCounterVec(prometheus.CounterOpts{
			Name: "evergate_spans_dropped_total",
			Help: "Spans that never reached the collector, by reason. No review waited for any of them.",
		}, []string{"reason"}),
	}
}

// Why a span was dropped, in metrics.
const (
	queueFull    = "queue_full"
	exportFailed = "export_failed"
	stopping     = "stopping"
)

// spanLedger knows of every span that has ended what became of it. The SDK's batch processor does not tell what it drops,
// so the ledger stands on both sides of it, and drops what it has no room for before the batch processor would have to.
type spanLedger struct {
	metrics spanMetrics
	log     *slog.Logger
	room    int64 // of the queue

	held   atomic.Int64 // spans that have ended and were neither exported nor dropped
	lost   atomic.Int64 // dropped since that was told
	closed atomic.Bool

	told time.Time // when loss was told last; of the goroutine that exports
}

// take says whether there is room for one more span.
func (l *spanLedger) take() bool {
	if l.held.Add(1) <= l.room {
		return true
	}
	l.held.Add(-1)
	l.drop(1, queueFull)
	return false
}

// settle records what became of n spans that were to be exported.
func (l *spanLedger) settle(n int, err error) {
	if l.closed.Load() {
		return
	}
	l.held.Add(int64(-n))
	if err != nil {
		l.drop(n, exportFailed)
	} else {
		l.metrics.exported.Add(float64(n))
	}
	l.tell(err)
}

func (l *spanLedger) drop(n int, reason string) {
	l.metrics.dropped.WithLabelValues(reason).Add(float64(n))
	l.lost.Add(int64(n))
}

// tellLossEvery is how often the loss of spans is told. It is no news that a collector is still away, and the metric says
// how much is lost.
const tellLossEvery = time.Minute

// tell logs what was lost, if anything was. err is that of the last export.
func (l *spanLedger) tell(err error) {
	now := time.Now()
	if l.lost.Load() == 0 || now.Sub(l.told) < tellLossEvery {
		return
	}
	l.told = now
	attrs := []any{slog.Int64("spans", l.lost.Swap(0))}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	l.log.Warn("spans were dropped", attrs...)
}

// close returns how many spans are still held. They count as dropped.
func (l *spanLedger) close() int64 {
	l.closed.Store(true)
	held := l.held.Swap(0)
	if held > 0 {
		l.drop(int(held), stopping)
	}
	return held
}

// spanIntake lets through to the batch processor what there is room for.
type spanIntake struct {
	sdktrace.SpanProcessor
	ledger *spanLedger
}

// OnEnd implements sdktrace.SpanProcessor. It never waits.
func (p spanIntake) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.SpanContext().IsSampled() && p.ledger.take() { // others the batch processor would leave out
		p.SpanProcessor.OnEnd(s)
	}
}

// spanOutlet is the exporter that the batch processor has. An error of the real one ends here: the batch processor
// would only hand it to the error handler of package otel, which the whole process shares.
type spanOutlet struct {
	next   sdktrace.SpanExporter
	ledger *spanLedger
	life   context.Context // ends when nobody waits for an export any more
}

// ExportSpans implements sdktrace.SpanExporter.
func (o spanOutlet) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.life, cancel)()
	o.ledger.settle(len(spans), o.next.ExportSpans(ctx, spans))
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (o spanOutlet) Shutdown(ctx context.Context) error { return o.next.Shutdown(ctx) }
