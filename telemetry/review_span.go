package telemetry

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// ReviewSpan is the span of a traced review. Its children are the stages of the review. A nil ReviewSpan is for a
// review that is not traced, and all its methods do nothing. A ReviewSpan must be used only by the goroutine of its
// review.
type ReviewSpan struct {
	tracer trace.Tracer
	within context.Context // contains span
	span   trace.Span
	stage  trace.Span // the current stage; nil if there is none
}

// TracedEndpoint creates the spans of the reviews of one path. A nil TracedEndpoint does not create spans.
type TracedEndpoint struct {
	tracer  trace.Tracer
	path    string
	name    string // of spans
	options []trace.SpanStartOption
}

// Endpoint returns the creator of spans for a path, which must be a path that the server routes.
func (t *Tracing) Endpoint(path string) *TracedEndpoint {
	if t == nil {
		return nil
	}
	return &TracedEndpoint{
		tracer: t.reviews, path: path, name: http.MethodPost + " " + path,
		options: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)},
	}
}

// Review begins the span of a review that has just arrived. If the client sent a trace, the span is part of it. Review
// returns nil if the review is not traced.
func (e *TracedEndpoint) Review(r *http.Request) *ReviewSpan {
	if e == nil {
		return nil
	}
	within, span := e.tracer.Start(parentOf(r), e.name, e.options...)
	if !span.IsRecording() {
		return nil // it is not sampled, or tracing has been stopped
	}
	span.SetAttributes(requestAttributes(r, e.path)...)
	return &ReviewSpan{tracer: e.tracer, within: within, span: span}
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

// Stage ends the current stage, if there is one, and begins the next.
func (s *ReviewSpan) Stage(name string) {
	if s == nil {
		return
	}
	s.endStage()
	_, s.stage = s.tracer.Start(s.within, name)
}

func (s *ReviewSpan) endStage() {
	if s.stage != nil {
		s.stage.End()
		s.stage = nil
	}
}

// Waiting begins a child of the current stage, in which the review waits for something. The caller must call done when
// the wait ends.
func (s *ReviewSpan) Waiting(what string) (done func()) {
	if s == nil {
		return func() {}
	}
	within := s.within
	if s.stage != nil {
		within = trace.ContextWithSpan(within, s.stage)
	}
	_, span := s.tracer.Start(within, "wait for "+what)
	return func() { span.End() }
}

// Failed records that the review could not be answered. kind is one of a few fixed words, and why is a sentence. A
// denial is not a failure.
func (s *ReviewSpan) Failed(kind, why string) {
	if s == nil {
		return
	}
	s.span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	s.span.SetStatus(codes.Error, why)
}

// End ends the span and the current stage. status is the HTTP status of the response.
func (s *ReviewSpan) End(status int, attrs ...attribute.KeyValue) {
	if s == nil {
		return
	}
	s.endStage()
	s.span.SetAttributes(append(attrs, semconv.HTTPResponseStatusCode(status))...)
	s.span.End()
}

// TraceID returns the trace of the review, as 32 hexadecimal digits. It is empty if the review is not traced.
func (s *ReviewSpan) TraceID() string {
	if s == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// TraceID returns the trace that the client of r sent, even if the review is not traced here. It is empty if the client
// did not send one.
func TraceID(r *http.Request) string {
	if id := trace.SpanContextFromContext(parentOf(r)).TraceID(); id.IsValid() {
		return id.String()
	}
	return ""
}
