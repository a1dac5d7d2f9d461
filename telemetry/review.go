package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// Endpoint reports the reviews of one webhook path: in metrics, in the log, and in spans if reviews are traced.
type Endpoint struct {
	webhook  *admission.Webhook
	metrics  *Metrics
	reviews  *prometheus.CounterVec // with the label path
	duration prometheus.ExemplarObserver
	tracer   trace.Tracer // nil if reviews are not traced
	spanName string
	spanKind []trace.SpanStartOption
	log      *slog.Logger
}

// Endpoint returns what reports the reviews of a webhook. t is nil if reviews are not traced. It creates the series
// whose first event matters: denials and failures. Failures count under the operation unknown, because such a review
// was not read or not understood. A deletion is never denied. Allowed reviews do not need such a series, because there
// are thousands of them.
func (m *Metrics) Endpoint(w *admission.Webhook, t *Tracing, log *slog.Logger) *Endpoint {
	e := &Endpoint{
		webhook: w, metrics: m, log: log,
		reviews:  m.reviews.MustCurryWith(prometheus.Labels{"path": w.Path}),
		duration: m.duration.WithLabelValues(w.Path).(prometheus.ExemplarObserver), // every histogram is one
		spanName: http.MethodPost + " " + w.Path,
		spanKind: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)},
	}
	if t != nil {
		e.tracer = t.reviews
	}
	for operation, outcomes := range map[string][]string{
		"CREATE":         {denied, unevaluated},
		"UPDATE":         {denied, unevaluated},
		operationUnknown: {unevaluated, Invalid, Rejected, Panicked},
	} {
		for _, outcome := range outcomes {
			e.reviews.WithLabelValues(operation, outcome)
		}
	}
	return e
}

// Review reports one review. The handler calls Stage as the review proceeds, Answer just before it sends the response,
// and End after it has sent the response. A Review must be used only by the goroutine of its request.
type Review struct {
	*Endpoint
	request *http.Request
	began   time.Time
	timeout time.Duration   // after which the client gives up
	within  context.Context // contains span
	span    trace.Span      // nil if this review is not traced
	stage   trace.Span      // the current stage; may be nil
	result  Result
	outcome string
	took    time.Duration // until the response was ready
}

// Result is the decision of a review, or the failure that prevented a decision.
type Result struct {
	Decision *admission.Decision // nil after a failure
	Size     int                 // of the encoded decision, in bytes
	Failure  *Failure            // nil after a decision
}

// Failure is why a review was not decided.
type Failure struct {
	Outcome string // Invalid, Rejected or Panicked
	Status  int    // of the HTTP response
	Message string // one sentence; the value of a panic
	// Reason is why a review was rejected. It is one of a few fixed words, because it is the value of a label.
	Reason string
	// UID and Stack belong to a panic. UID is empty if it is not known.
	UID, Stack string
}

// The outcomes of failures, in metrics and spans.
const (
	Invalid  = "invalid"  // the client made a mistake: 4xx
	Rejected = "rejected" // not started: 429, 503
	Panicked = "panicked"
)

// The outcomes of decisions, in metrics and spans.
const (
	allowed     = "allowed"
	rewritten   = "rewritten"
	denied      = "denied"
	unevaluated = "unevaluated" // the object could not be evaluated: denied in mode enforce, otherwise allowed
)

// Begin begins to report a review that arrived at the given time. If the client sent a trace, the span of the review is
// part of it.
func (e *Endpoint) Begin(r *http.Request, at time.Time, timeout time.Duration) *Review {
	v := &Review{Endpoint: e, request: r, began: at, timeout: timeout}
	if e.tracer == nil {
		return v
	}
	within, span := e.tracer.Start(parentOf(r), e.spanName, e.spanKind...)
	if span.IsRecording() { // otherwise it is not sampled, or tracing has been stopped
		span.SetAttributes(requestAttributes(r, e.webhook.Path)...)
		v.within, v.span = within, span
	}
	return v
}

// Stage ends the current stage, if there is one, and begins the next. A stage is a child of the review's span.
func (v *Review) Stage(name string) {
	if v.span == nil {
		return
	}
	if v.stage != nil {
		v.stage.End()
	}
	_, v.stage = v.tracer.Start(v.within, name)
}

// Waiting begins a child of the current stage, in which the review waits for something. The caller must call done when
// the wait ends.
func (v *Review) Waiting(what string) (done func()) {
	if v.span == nil {
		return func() {}
	}
	within := v.within
	if v.stage != nil {
		within = trace.ContextWithSpan(within, v.stage)
	}
	_, span := v.tracer.Start(within, "wait for "+what)
	return func() { span.End() }
}

// operationUnknown is the operation of a review that was not read or not understood, in metrics.
const operationUnknown = "unknown"

// Answer counts the review, whose response is ready. Namespaces, names, users and images are only in the log. As
// labels, they would let any user of the cluster create any number of series. For the same reason, an operation that
// Kubernetes does not have counts as "other".
func (v *Review) Answer(result Result) {
	v.result, v.took = result, time.Since(v.began)
	operation, m := operationUnknown, v.metrics
	if f := result.Failure; f != nil {
		v.outcome = f.Outcome
		if f.Reason != "" {
			m.rejected.WithLabelValues(f.Reason).Inc()
		}
	} else {
		d := result.Decision
		switch {
		case d.Unevaluated.Why != "":
			v.outcome = unevaluated
		case d.Denies():
			v.outcome = denied
		case len(d.Patch) > 0:
			v.outcome = rewritten
		default:
			v.outcome = allowed
		}
		switch op := string(d.Operation); op {
		case "CREATE", "UPDATE", "DELETE", "CONNECT":
			operation = op
		case "":
		default:
			operation = "other"
		}
		for i := range d.Findings {
			f := &d.Findings[i]
			m.findings.WithLabelValues(f.Rule, f.Check, f.ModeWord(), strconv.FormatBool(f.Existed)).Inc()
		}
		for i := range d.Rewriting.Images {
			img := &d.Rewriting.Images[i]
			m.images.WithLabelValues(img.Entry, imageOutcome(img.Outcome)).Inc()
		}
	}
	v.reviews.WithLabelValues(operation, v.outcome).Inc()
	var exemplar prometheus.Labels // nil if the review is not traced
	if v.span != nil {
		exemplar = prometheus.Labels{"trace_id": v.span.SpanContext().TraceID().String()}
	}
	v.duration.ObserveWithExemplar(v.took.Seconds(), exemplar)
	v.Stage("write")
}

// imageOutcome returns the label of an outcome. Labels are separate from the words for users, which may change.
func imageOutcome(o policy.Outcome) string {
	return [policy.Outcomes]string{
		policy.NoMirror:     "no_mirror",
		policy.Rewritten:    "rewritten",
		policy.WouldRewrite: "would_rewrite",
		policy.AtMirror:     "at_mirror",
		policy.Excluded:     "excluded",
		policy.Unchanged:    "unchanged",
		policy.Malformed:    "malformed",
		policy.Denied:       "denied",
		policy.Ignored:      "ignored",
		policy.NeverPulled:  "never_pulled",
		policy.Placeholder:  "placeholder",
	}[o]
}

// End ends the span of the review, and writes its log line. It must be called after the response has been sent, because
// a log without a reader must not delay the response.
func (v *Review) End() {
	v.endSpan()
	if v.result.Failure != nil {
		v.logFailure(v.result.Failure)
	} else {
		v.logDecision(v.result.Decision)
	}
}
