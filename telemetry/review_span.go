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

// ReviewSpan is the span of one review that is traced, and the stages of that review are its children. A nil ReviewSpan
// is that of a review that is not traced: it does nothing, and costs nothing. It belongs to the goroutine of its
// review.
type ReviewSpan struct {
	tracer trace.Tracer
	within context.Context // holds span
	span   trace.Span
	stage  trace.Span // that is under way; nil for none
}

// TracedEndpoint makes the spans of the reviews of one path. A nil one makes none.
type TracedEndpoint struct {
	tracer  trace.Tracer
	path    string
	name    string // of spans
	options []trace.SpanStartOption
}

// Endpoint returns what makes the spans of a path, which must be one that the server routes.
func (t *Tracing) Endpoint(path string) *TracedEndpoint {
	if t == nil {
		return nil
	}
	return &TracedEndpoint{
		tracer: t.reviews, path: path, name: http.MethodPost + " " + path,
		options: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)},
	}
}

// Review begins the span of a review that has just come in, in the trace of the client where it has one. It returns nil
// for one that is not traced.
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

// parentOf returns a context with the client's span, and nothing else of the request's own, whose many layers would
// cost a little each. kube-apiserver passes on a trace that its own client has begun even if it does not trace itself.
func parentOf(r *http.Request) context.Context {
	if len(r.Header["Traceparent"]) == 0 {
		return context.Background() // as in most clusters
	}
	return propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
}

// requestAttributes are those that OpenTelemetry's conventions have for the span of an HTTP server.
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

// server returns the name, or the address, and the port that a client has called, from its Host header. A header
// without a port is that of the scheme's own (RFC 9110, section 7.2). port is 0 for one that is no number.
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

// Stage ends the stage that is under way, if there is one, and begins the next.
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

// Waiting begins a part of the stage that is under way, in which the review waits for something. It ends with done.
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

// Failed records that the review could not be answered: kind is one of a few fixed words, why is a sentence. A denial
// is an answer.
func (s *ReviewSpan) Failed(kind, why string) {
	if s == nil {
		return
	}
	s.span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	s.span.SetStatus(codes.Error, why)
}

// End ends the span, and the stage that is under way. status is that of the answer.
func (s *ReviewSpan) End(status int, attrs ...attribute.KeyValue) {
	if s == nil {
		return
	}
	s.endStage()
	s.span.SetAttributes(append(attrs, semconv.HTTPResponseStatusCode(status))...)
	s.span.End()
}

// TraceID returns the trace that the review is in, as 32 hexadecimal digits; empty when it is not traced.
func (s *ReviewSpan) TraceID() string {
	if s == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// TraceID returns the trace of the client of r, whether or not it is traced here; empty for none.
func TraceID(r *http.Request) string {
	if id := trace.SpanContextFromContext(parentOf(r)).TraceID(); id.IsValid() {
		return id.String()
	}
	return ""
}
