package telemetry

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"

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
	scheme, defaultPort := "http", "80"
	if r.TLS != nil {
		scheme, defaultPort = "https", "443"
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
	server := url.URL{Host: r.Host} // the name or address, and the port, that the client called
	if host := server.Hostname(); host != "" {
		attrs = append(attrs, semconv.ServerAddress(host))
		if port, err := strconv.ParseUint(cmp.Or(server.Port(), defaultPort), 10, 16); err == nil {
			attrs = append(attrs, semconv.ServerPort(int(port)))
		}
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		attrs = append(attrs, semconv.ClientAddress(host))
	}
	return attrs
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
	var images []string // the first images that are rewritten, each with its new reference
	rewritten := 0
	for i := range d.Rewriting.Images {
		if img := &d.Rewriting.Images[i]; img.Outcome == policy.Rewritten {
			if rewritten++; rewritten <= admission.Shown { // an arrow, because encoders escape > for HTML
				from, to := text.Truncate(img.Image.Ref, admission.MaxSentence), text.Truncate(img.To, admission.MaxSentence)
				images = append(images, from+" → "+to)
			}
		}
	}
	if rewritten > 0 {
		attrs = append(attrs, attribute.StringSlice("evergate.images", images),
			attribute.Int("evergate.images_rewritten", rewritten))
	}
	return attrs
}

// stringOf returns an attribute whose value a client has written. It truncates and copies a long value, because a span
// waits in memory for its export and the SDK's own limit would keep the whole string.
func stringOf(key, value string) attribute.KeyValue {
	return attribute.String(key, text.Truncate(value, admission.MaxSentence))
}
