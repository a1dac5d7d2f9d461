package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
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
		"CREATE":         {denied},
		"UPDATE":         {denied},
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
	stage   trace.Span      // the current stage; nil if there is none
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

// parentOf returns a context that contains only the client's span. It is not the request's context, whose many layers
// would each cost a little time. kube-apiserver passes on a trace that its own client has begun, even if it does not
// trace requests itself.
func parentOf(r *http.Request) context.Context {
	if len(r.Header["Traceparent"]) == 0 {
		return context.Background() // as in most clusters
	}
	return propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
}

// requestAttributes returns the attributes that OpenTelemetry's conventions define for the span of an HTTP server.
func requestAttributes(r *http.Request, path string) []attribute.KeyValue {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	attrs := append(make([]attribute.KeyValue, 0, 11),
		semconv.HTTPRequestMethodPost,
		semconv.HTTPRoute(path),
		semconv.URLPath(path),
		semconv.URLScheme(scheme),
		semconv.NetworkProtocolVersion(strconv.Itoa(r.ProtoMajor)+"."+strconv.Itoa(r.ProtoMinor)),
		semconv.UserAgentOriginal(r.UserAgent()),
		semconv.HTTPRequestBodySize(int(r.ContentLength)),
	)
	if host, port := server(r.Host, scheme); host != "" {
		attrs = append(attrs, semconv.ServerAddress(host))
		if port > 0 {
			attrs = append(attrs, semconv.ServerPort(port))
		}
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		attrs = append(attrs, semconv.ClientAddress(host))
	}
	return attrs
}

// server parses the Host header, which contains the name or address, and the port, that the client called. If the
// header does not have a port, it is the default port of the scheme (RFC 9110, section 7.2). If the port is not a
// number, it is 0.
func server(header, scheme string) (host string, port int) {
	host, text, err := net.SplitHostPort(header)
	if err != nil { // it has no port
		host, text = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]"), ""
	}
	switch {
	case text != "":
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return host, 0
		}
		return host, int(n)
	case scheme == "https":
		return host, 443
	}
	return host, 80
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
		v.outcome = outcomeOf(d)
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

// outcomeOf returns the outcome of a decision.
func outcomeOf(d *admission.Decision) string {
	switch {
	case d.Unevaluated.Why != "":
		return unevaluated
	case d.Denies():
		return denied
	case len(d.Patch) > 0:
		return rewritten
	}
	return allowed
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

// endSpan ends the span, if there is one. Of the object, it records only the name and images, because permission to
// read traces does not imply permission to read Secrets.
func (v *Review) endSpan() {
	if v.span == nil {
		return
	}
	if v.stage != nil {
		v.stage.End()
	}
	attrs := append(make([]attribute.KeyValue, 0, 18),
		attribute.String("evergate.outcome", v.outcome),
		attribute.Float64("evergate.timeout", v.timeout.Seconds()),
		attribute.Float64("evergate.time_left", (v.timeout-v.took).Seconds()), // below 0: the client had given up
	)
	status := http.StatusOK
	if f := v.result.Failure; f != nil {
		status = f.Status
		message := text.Truncate(f.Message, admission.MaxSentence)
		if f.Outcome == Panicked {
			message = "panic: " + message
			attrs = append(attrs, stringOf("evergate.uid", f.UID))
		}
		attrs = append(attrs, semconv.ErrorTypeKey.String(cmp.Or(f.Reason, f.Outcome)))
		v.span.SetStatus(codes.Error, message)
	} else {
		attrs = append(v.attributes(attrs, v.result.Decision), semconv.HTTPResponseBodySize(v.result.Size))
	}
	v.span.SetAttributes(append(attrs, semconv.HTTPResponseStatusCode(status))...)
	v.span.End()
}

// attributes appends the span attributes of a decision. The namespace of the object is not in k8s.namespace.name,
// because OpenTelemetry's conventions use that for the namespace of the process. Durations are in seconds, as in these
// conventions.
func (e *Endpoint) attributes(attrs []attribute.KeyValue, d *admission.Decision) []attribute.KeyValue {
	of := e.webhook.Resource(d.Resource)
	resource := of.APIVersion() + "/" + of.Name
	if d.Subresource != "" {
		resource += "/" + d.Subresource
	}
	attrs = append(attrs,
		stringOf("evergate.uid", d.UID),
		stringOf("evergate.operation", string(d.Operation)),
		stringOf("evergate.object.resource", resource),
		stringOf("evergate.object.namespace", d.Namespace),
		stringOf("evergate.object.name", d.Name),
		attribute.Bool("evergate.dry_run", d.DryRun),
		attribute.String("evergate.policy", d.Policy),
	)
	var rules []string // the first checks with a finding in any mode, without duplicates
	for i := range d.Findings {
		if id := d.Findings[i].ID(); len(rules) < admission.Shown && !slices.Contains(rules, id) {
			rules = append(rules, id)
		}
	}
	if len(rules) > 0 {
		attrs = append(attrs, attribute.StringSlice("evergate.rules", rules),
			attribute.Int("evergate.findings", len(d.Findings)))
	}
	if images, n := imagesRewritten(d); n > 0 {
		attrs = append(attrs, attribute.StringSlice("evergate.images", images), attribute.Int("evergate.images_rewritten", n))
	}
	return attrs
}

// stringOf returns an attribute whose value a client has written. It truncates and copies a long value, because a span
// waits in memory for its export and the SDK's own limit would keep the whole string.
func stringOf(key, value string) attribute.KeyValue {
	return attribute.String(key, text.Truncate(value, admission.MaxSentence))
}

// imagesRewritten returns the first images that are rewritten, each with its new reference, and the number of all
// rewritten images.
func imagesRewritten(d *admission.Decision) (images []string, n int) {
	for i := range d.Rewriting.Images {
		if img := &d.Rewriting.Images[i]; img.Outcome == policy.Rewritten {
			if n++; n <= admission.Shown { // an arrow, because encoders escape > for HTML
				from, to := text.Truncate(img.Image.Ref, admission.MaxSentence), text.Truncate(img.To, admission.MaxSentence)
				images = append(images, from+" → "+to)
			}
		}
	}
	return images, n
}

// maxReason is the maximum length of a sentence in the log, in bytes. It keeps the log line of a review below 4 KiB.
// Half of these bytes are for names, and quotes and backslashes take two bytes each.
const maxReason = 512

// logFailure writes a line about a review that was not decided.
func (v *Review) logFailure(f *Failure) {
	reason := text.Printable(f.Message, maxReason)
	if f.Outcome == Panicked {
		v.log.LogAttrs(v.request.Context(), slog.LevelError, "panic during a review",
			slog.String("path", v.webhook.Path), slog.String("uid", f.UID), v.traceID(),
			slog.String("panic", reason), slog.String("stack", f.Stack))
		return
	}
	level := slog.LevelWarn // kube-apiserver hides the text of most responses other than 200
	if f.Reason != "" {
		level = slog.LevelDebug // writing a line would slow an overloaded process further
	}
	v.log.LogAttrs(v.request.Context(), level, "request could not be answered", slog.String("path", v.webhook.Path),
		slog.Int("status", f.Status), slog.String("reason", reason), slog.String("remote", v.request.RemoteAddr),
		v.traceID())
}

// logDecision writes a line for each review with a denial or a warning. At level debug, it writes a line for every
// review.
func (v *Review) logDecision(d *admission.Decision) {
	level, msg := slog.LevelDebug, v.outcome
	switch {
	case d.Denies():
		level, msg = slog.LevelInfo, "denied"
	case d.Warns():
		level, msg = slog.LevelInfo, "warned"
	}
	if !v.log.Enabled(v.request.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("path", v.webhook.Path),
		slog.String("uid", d.UID),
		slog.String("operation", text.Printable(string(d.Operation), text.Short)),
		slog.String("namespace", text.Printable(d.Namespace, admission.MaxName)),
		slog.String("name", text.Printable(d.Name, admission.MaxName)),
		slog.String("user", text.Printable(d.User, admission.MaxName)),
		slog.Any("rules", d.Rules()),
		slog.String("policy", d.Policy),
		v.traceID(),
	}
	if d.Unevaluated.Why != "" {
		attrs = append(attrs, slog.String("reason", text.Printable(d.Unevaluated.Why, maxReason)))
	}
	if len(d.InvalidPolicy.Mistakes) > 0 {
		attrs = append(attrs, slog.String("reason", text.Printable(d.InvalidPolicy.Mistakes[0], maxReason)),
			slog.Int("mistakes", len(d.InvalidPolicy.Mistakes)))
	}
	if d.DryRun {
		attrs = append(attrs, slog.Bool("dryRun", true))
	}
	v.log.LogAttrs(v.request.Context(), level, msg, attrs...)
}

// traceID returns the trace of the review for its log line: the trace of its span, or the client's trace if the review
// itself is not traced. If there is neither, the attribute is empty.
func (v *Review) traceID() slog.Attr {
	of := v.within
	if v.span == nil {
		of = parentOf(v.request)
	}
	if id := trace.SpanContextFromContext(of).TraceID(); id.IsValid() {
		return slog.String("trace_id", id.String())
	}
	return slog.Attr{}
}
