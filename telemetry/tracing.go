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

// Tracing creates the spans of one process and exports them in the background. A nil Tracing does nothing. All methods
// are safe for concurrent use.
type Tracing struct {
	reviews trace.Tracer // creates spans as the sampler decides
	process trace.Tracer // creates every span
	batches *sdktrace.TracerProvider
	ledger  *spanLedger
	abandon context.CancelFunc // ends an export that hangs
}

// TracingConfig configures tracing. Exporter is required.
type TracingConfig struct {
	// Exporter receives the spans in batches, one call at a time. It may fail, and it may hang.
	Exporter sdktrace.SpanExporter
	// Sampler decides which reviews are traced. If it is nil, all reviews are traced, except reviews whose parent trace
	// is not sampled.
	Sampler sdktrace.Sampler
	// Resource contains the attributes of the process in all spans. If it is nil, spans do not have such attributes.
	Resource *resource.Resource
	// QueueSize is the maximum number of spans in memory, including spans that are being exported. 0 means the SDK's
	// default of 2,048.
	QueueSize int
	// Log gets a line when spans are lost, at most one a minute. If it is nil, the lines are discarded.
	Log *slog.Logger
}

const (
	// flushTimeout is how long Stop waits for the exporter. It is a part of the five seconds that a process has after
	// its last review. A collector that can be reached needs a few milliseconds, and a rollout does not wait for any
	// other.
	flushTimeout = 3 * time.Second

	// maxAttribute is the maximum length of each string in a span, unless OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT is
	// set. The name of an object has up to 253 bytes, an image twice as many, and other attributes do not need more.
	maxAttribute = 1024

	instrumentation = "github.com/evergate/evergate"
)

// NewTracing returns tracing that exports spans to cfg.Exporter. m counts the exported and dropped spans.
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
		m.spans.dropped.WithLabelValues(reason) // otherwise the first loss would not show as an increase
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
		// A process changes its phase only six times, so these spans are always exported, whatever part of reviews is
		// traced.
		process: provider(sdktrace.AlwaysSample()).Tracer(instrumentation),
		batches: reviews, // both providers share the batcher, and stopping either stops it
		ledger:  ledger,
		abandon: abandon,
	}
}

// PhaseChanged creates a separate span without duration for each change of the process's phase. A span with the
// duration of the phase would appear at the time when the phase began, which may be weeks ago.
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

// Stop exports the remaining spans, until its timeout or the end of ctx. The error contains the number of lost spans.
// Spans that end later are lost without an error.
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
