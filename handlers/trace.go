package handlers

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

// trace records the outcome of an answered review in its span and ends the span. took is the time until the response
// was ready. Of the object, it records only the name and images, because permission to read traces does not imply
// permission to read Secrets.
func (e *endpoint) trace(
	span *telemetry.ReviewSpan, d decision, err error, outcome string, timeout, took time.Duration,
) {
	if span == nil {
		return
	}
	attrs := append(make([]attribute.KeyValue, 0, 18),
		attribute.String("evergate.outcome", outcome),
		attribute.Float64("evergate.timeout", timeout.Seconds()),
		attribute.Float64("evergate.time_left", (timeout-took).Seconds()), // below 0: the client had given up
	)
	if err == nil {
		attrs = append(e.attributes(attrs, d.Decision), semconv.HTTPResponseBodySize(len(d.encoded)))
		span.End(http.StatusOK, attrs...)
		return
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, stringOf("evergate.uid", p.uid))
	}
	h := asHTTPError(err)
	span.Failed(cmp.Or(h.reason, outcome), text.Truncate(err.Error(), admission.MaxSentence))
	span.End(h.status, attrs...)
}

// attributes appends the span attributes of a decision. The namespace of the object is not in k8s.namespace.name,
// because OpenTelemetry's conventions use that for the namespace of the process. Durations are in seconds, as in these
// conventions.
func (e *endpoint) attributes(attrs []attribute.KeyValue, d *admission.Decision) []attribute.KeyValue {
	of := e.Resource(d.Resource)
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
	if rules := rulesFound(d); len(rules) > 0 {
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

// rulesFound returns the IDs of the first checks with a finding in any mode, without duplicates.
func rulesFound(d *admission.Decision) []string {
	var ids []string
	for i := range d.Findings {
		if id := d.Findings[i].ID(); len(ids) < admission.Shown && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
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
