package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracing makes the spans of one process and hands them over in the background. A nil Tracing makes none, at no cost.
// Any number of goroutines may use it.
type Tracing struct {
	reviews trace.Tracer // as the sampler says
	process trace.Tracer // all of them
	batches *sdktrace.TracerProvider
	ledger  *spanLedger
	abandon context.CancelFunc // ends an export that hangs
}

// TracingConfig is what tracing needs. Exporter is required.
type TracingConfig struct {
	// Exporter takes the spans, in batches, one call at a time. It may fail and it may hang.
	Exporter sdktrace.SpanExporter
	// Sampler decides which reviews are traced; nil traces all but those whose parent trace is not sampled.
	Sampler sdktrace.Sampler
	// Resource is what all spans say of the process; nil for nothing.
	Resource *resource.Resource
	// QueueSize is how many spans are held at most, those included that are being exported; 0 for the SDK's 2,048.
	QueueSize int
	// Log gets a line when spans are lost, at most one a minute; nil discards it.
	Log *slog.Logger
}

const (
	// flushTimeout is how long Stop waits for the exporter: a part of the five seconds that a process has after its
	// last review. A collector that is reached takes some milliseconds, and for any other the roll-out does not wait.
	flushTimeout = 3 * time.Second

	// maxAttribute bounds each string in a span, unless OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT does: the name of an
	// object has up to 253 bytes, an image twice as much, and nothing else needs more.
	maxAttribute = 1024

	instrumentation = "github.com/evergate/evergate"
)

// NewTracing returns what makes spans for cfg.Exporter, and counts what becomes of them.
func (m *Metrics) NewTracing(cfg TracingConfig) *Tracing {
	if cfg.Sampler == nil {
		cfg.Sampler = sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	if cfg.Resource == nil {
		cfg.Resource = resource.Empty()
	}
	if cfg.QueueSize <= 0 {
		cfg.QueueSize = sdktrace.DefaultMaxQueueSize
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	for _, reason := range []string{queueFull, exportFailed, stopping} {
		m.spans.dropped.WithLabelValues(reason) // a series that begins with its first loss shows no increase by it
	}
	ledger := &spanLedger{metrics: m.spans, log: cfg.Log, room: int64(cfg.QueueSize)}
	life, abandon := context.WithCancel(context.Background())
	outlet := spanOutlet{cfg.Exporter, ledger, life}
	intake := spanIntake{sdktrace.NewBatchSpanProcessor(outlet, sdktrace.WithMaxQueueSize(cfg.QueueSize)), ledger}
	provider := func(s sdktrace.Sampler) *sdktrace.TracerProvider {
		limits := sdktrace.NewSpanLimits()
		if limits.AttributeValueLengthLimit < 0 {
			limits.AttributeValueLengthLimit = maxAttribute
		}
		return sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithResource(cfg.Resource),
			sdktrace.WithRawSpanLimits(limits), sdktrace.WithSpanProcessor(intake))
	}
	reviews := provider(cfg.Sampler)
	return &Tracing{
		reviews: reviews.Tracer(instrumentation),
		// A process changes its phase six times in its life, and that is to be seen whatever part of reviews is traced.
		process: provider(sdktrace.AlwaysSample()).Tracer(instrumentation),
		batches: reviews, // they share the batcher, which is stopped with either
		ledger:  ledger,
		abandon: abandon,
	}
}

// PhaseChanged makes a span of its own, without length, of each change of the process's phase: a span that lasted as
// long as the phase would be found where the phase began, which may be weeks ago.
func (t *Tracing) PhaseChanged(from, to string, lasted time.Duration, open int) {
	if t == nil {
		return
	}
	_, span := t.process.Start(context.Background(), "phase "+to, trace.WithNewRoot(), trace.WithAttributes(
		attribute.String("evergate.phase.from", from),
		attribute.String("evergate.phase.to", to),
		attribute.Float64("evergate.phase.duration", lasted.Seconds()),
		attribute.Int("evergate.phase.open_connections", open),
	))
	span.End()
}

// Stop hands over what has not been yet, as long as its deadline and that of ctx allow. The error says what was lost.
// Spans that end later are lost without a word.
func (t *Tracing) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	defer t.abandon()
	err := t.batches.Shutdown(ctx)
	if lost := t.ledger.close(); lost > 0 {
		return fmt.Errorf("flush spans: %d were lost: %w", lost, err)
	}
	return err
}
