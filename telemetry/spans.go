package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// spanMetrics counts the spans that were exported and dropped.
type spanMetrics struct {
	exported prometheus.Counter
	dropped  *prometheus.CounterVec
}

func newSpanMetrics(f factory) spanMetrics {
	return spanMetrics{
		exported: f.counter("evergate_spans_exported_total",
			"Spans that the collector accepted."),
		dropped: f.counters("evergate_spans_dropped_total",
			"Spans that never reached the collector, by reason. Reviews never wait for spans.", "reason"),
	}
}

// Reasons for dropping a span, in metrics.
const (
	queueFull    = "queue_full"
	exportFailed = "export_failed"
	stopping     = "stopping"
)

// spanLedger counts the result of every span that has ended. The SDK's batch processor does not report dropped spans.
// For this reason, the ledger wraps both ends of it, and drops spans when the queue is full, before the batch processor
// would.
type spanLedger struct {
	metrics spanMetrics
	log     *slog.Logger
	room    int64 // in the queue

	held   atomic.Int64 // spans that have ended and were neither exported nor dropped
	lost   atomic.Int64 // dropped since the last log line about losses
	closed atomic.Bool

	logged time.Time // when a loss was last logged; used only by the goroutine that exports
}

// settle records the result of an export of n spans.
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
	l.logLoss(err)
}

func (l *spanLedger) drop(n int, reason string) {
	l.metrics.dropped.WithLabelValues(reason).Add(float64(n))
	l.lost.Add(int64(n))
}

// lossInterval is how often the loss of spans is logged. A collector that is still unavailable is not news, and the
// metric counts the losses.
const lossInterval = time.Minute

// logLoss logs how many spans were lost, if any. err is the error of the last export.
func (l *spanLedger) logLoss(err error) {
	now := time.Now()
	if l.lost.Load() == 0 || now.Sub(l.logged) < lossInterval {
		return
	}
	l.logged = now
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

// spanIntake passes spans to the batch processor while there is room for them.
type spanIntake struct {
	sdktrace.SpanProcessor
	ledger *spanLedger
}

// OnEnd implements sdktrace.SpanProcessor. It never waits.
func (p spanIntake) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() { // the batch processor would ignore it
		return
	}
	if p.ledger.held.Add(1) > p.ledger.room {
		p.ledger.held.Add(-1)
		p.ledger.drop(1, queueFull)
		return
	}
	p.SpanProcessor.OnEnd(s)
}

// spanOutlet is the exporter of the batch processor. It does not return the errors of the real exporter, because the
// batch processor would only pass them to the error handler of package otel, which the whole process shares.
type spanOutlet struct {
	next   sdktrace.SpanExporter
	ledger *spanLedger
	life   context.Context // ends when no goroutine waits for an export any more
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
