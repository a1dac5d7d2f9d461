package telemetry

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

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
