package handlers

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

// trace tells the span of a review that was answered what became of it, and ends it. took is the time until the answer
// was ready. Nothing is told of the object but its name and its images: who may read traces may not read Secrets.
func (e *endpoint) trace(span *telemetry.ReviewSpan, r *http.Request, v *verdict, err error, took time.Duration) {
	if !span.Traced() {
		return
	}
	timeout := timeoutOf(r)
	span.Describe(
		attribute.String("evergate.outcome", outcome(v, err)),
		attribute.Int64("evergate.timeout_ms", timeout.Milliseconds()),
		attribute.Int64("evergate.left_ms", (timeout-took).Milliseconds()), // below 0: nobody waited for it any more
	)
	if err == nil {
		span.Describe(v.attributes()...)
		span.Describe(semconv.HTTPResponseBodySize(len(v.encoded)))
		span.End(http.StatusOK)
		return
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		span.Describe(stringOf("evergate.uid", p.uid))
	}
	h := asHTTPError(err)
	kind := outcome(nil, err)
	if h.reason != "" {
		kind = h.reason
	}
	span.Failed(kind, text.Truncate(err.Error(), maxSentence))
	span.End(h.status)
}

// attributes are what a span tells of a verdict, under the names of OpenTelemetry's conventions where they have one.
func (v *verdict) attributes() []attribute.KeyValue {
	a := v.request
	attrs := append(make([]attribute.KeyValue, 0, 12),
		stringOf("evergate.uid", v.uid),
		stringOf("evergate.operation", string(a.Operation)),
		stringOf("evergate.resource", resourceOf(a)),
		stringOf("evergate.namespace", a.Namespace),
		stringOf("evergate.name", a.Name),
		attribute.Bool("evergate.dry_run", v.dryRun),
		attribute.String("evergate.policy", v.policy),
		stringOf(string(semconv.K8SNamespaceNameKey), a.Namespace),
	)
	if rules := v.rulesFound(); len(rules) > 0 {
		attrs = append(attrs, attribute.StringSlice("evergate.rules", rules), attribute.Int("evergate.findings", len(v.findings)))
	}
	if images, n := v.rewritten(); n > 0 {
		attrs = append(attrs, attribute.StringSlice("evergate.images", images), attribute.Int("evergate.images_rewritten", n))
	}
	return attrs
}

// stringOf is an attribute that a caller has written. A span waits in memory for its export, so a long one is cut and copied:
// the SDK's own limit would keep the whole.
func stringOf(key, value string) attribute.KeyValue {
	return attribute.String(key, text.Truncate(value, maxSentence))
}

// resourceOf is what a review is of, as group/version/resource/subresource. Those that are judged exist in one version.
func resourceOf(a policy.Attributes) string {
	s := "v1/" + a.Resource
	if a.Resource == "ingresses" {
		s = "networking.k8s.io/" + s
	}
	if a.Subresource != "" {
		s += "/" + a.Subresource
	}
	return s
}

// rulesFound names the first checks that found something, in whatever mode, each once.
func (v *verdict) rulesFound() []string {
	var ids []string
	for i := range v.findings {
		if id := v.findings[i].ID(); len(ids) < shown && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// rewritten tells of the first images that are rewritten, from what to what, and how many are.
func (v *verdict) rewritten() (images []string, n int) {
	for i := range v.rewriting.Images {
		if img := &v.rewriting.Images[i]; img.Outcome == policy.Rewritten {
			if n++; n <= shown { // an arrow that no viewer escapes, as JSON for the web does with >
				images = append(images, text.Truncate(img.Image.Ref, maxSentence)+" → "+text.Truncate(img.To, maxSentence))
			}
		}
	}
	return images, n
}
