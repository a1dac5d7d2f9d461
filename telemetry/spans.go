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

// spanMetrics count the spans that were exported and dropped.
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

// spanLedger counts what became of every span that has ended. The SDK's batch processor does not report what it drops.
// So the ledger stands before and behind it, and drops what it has no room for before the batch processor would.
type spanLedger struct {
	metrics spanMetrics
	log     *slog.Logger
	room    int64 // of the queue

	held   atomic.Int64 // spans that have ended and were neither exported nor dropped
	lost   atomic.Int64 // dropped since the last log line about it
	closed atomic.Bool

	logged time.Time // when loss was logged last; of the goroutine that exports
}

// tryTake counts one more span and reports whether there was room for it. Otherwise the span counts as dropped.
func (l *spanLedger) tryTake() bool {
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
	l.logLoss(err)
}

func (l *spanLedger) drop(n int, reason string) {
	l.metrics.dropped.WithLabelValues(reason).Add(float64(n))
	l.lost.Add(int64(n))
}

// lossInterval is how often the loss of spans is logged. It is no news that a collector is still away, and the metric
// counts what is lost.
const lossInterval = time.Minute

// logLoss logs how many spans were lost, if any. err is that of the last export.
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

// spanIntake passes on to the batch processor what there is room for.
type spanIntake struct {
	sdktrace.SpanProcessor
	ledger *spanLedger
}

// OnEnd implements sdktrace.SpanProcessor. It never waits.
func (p spanIntake) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.SpanContext().IsSampled() && p.ledger.tryTake() { // the batch processor would ignore others
		p.SpanProcessor.OnEnd(s)
	}
}

// spanOutlet is the exporter that the batch processor has. An error of the real one ends here: the batch processor
// would only hand it to the error handler of package otel, which the whole process shares.
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
