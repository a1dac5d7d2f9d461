package handlers

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

// maxReason is the maximum length of a sentence in the log, in bytes. It keeps the log line of a review below 4 KiB.
// Half of these bytes are for names, and quotes and backslashes take two bytes each.
const maxReason = 512

// The outcomes of reviews, in metrics.
const (
	allowed     = "allowed"
	rewritten   = "rewritten"
	denied      = "denied"
	unevaluated = "unevaluated" // the object could not be evaluated: denied in mode enforce, otherwise allowed
	invalid     = "invalid"     // the client made a mistake: 4xx
	rejected    = "rejected"    // not started: 429, 503
	panicked    = "panicked"
)

// outcomeOf returns the outcome of a review.
func outcomeOf(d *admission.Decision, err error) string {
	switch {
	case err == nil && d.Unevaluated.Why != "":
		return unevaluated
	case err == nil && d.Denies():
		return denied
	case err == nil && len(d.Patch) > 0:
		return rewritten
	case err == nil:
		return allowed
	}
	switch e := asHTTPError(err); {
	case e.reason != "":
		return rejected
	case e.status == http.StatusInternalServerError:
		return panicked
	}
	return invalid
}

// count counts a review just before it is answered. Namespaces, names, users and images are only in the log. As labels,
// they would let any user of the cluster create any number of series.
func (e *endpoint) count(d *admission.Decision, err error, outcome string, took time.Duration, traceID string) {
	if err != nil {
		e.series.Reviewed("", outcome, took, traceID)
		if reason := asHTTPError(err).reason; reason != "" {
			e.metrics.Rejected(reason)
		}
		return
	}
	e.series.Reviewed(string(d.Operation), outcome, took, traceID)
	for i := range d.Findings {
		f := &d.Findings[i]
		e.metrics.Found(f.Rule, f.Check, f.ModeWord(), f.Existed)
	}
	for i := range d.Rewriting.Images {
		img := &d.Rewriting.Images[i]
		e.metrics.Image(img.Entry, imageOutcomes[img.Outcome])
	}
}

// traceID returns the trace of a review: the trace of its span, or the client's trace if the review itself is not
// traced. If there is neither, the attribute is empty.
func traceID(r *http.Request, span *telemetry.ReviewSpan) slog.Attr {
	if id := cmp.Or(span.TraceID(), telemetry.TraceID(r)); id != "" {
		return slog.String("trace_id", id)
	}
	return slog.Attr{}
}

func (e *endpoint) logError(r *http.Request, err error, span *telemetry.ReviewSpan) {
	if p, ok := errors.AsType[*panicError](err); ok {
		e.log.LogAttrs(r.Context(), slog.LevelError, "panic during a review", slog.String("path", e.Path),
			slog.String("uid", p.uid), traceID(r, span),
			slog.String("panic", text.Printable(fmt.Sprint(p.value), maxReason)), slog.String("stack", string(p.stack)))
		return
	}
	h := asHTTPError(err)
	level := slog.LevelWarn // kube-apiserver hides the text of most responses other than 200
	if h.reason != "" {
		level = slog.LevelDebug // writing a line would slow an overloaded process further
	}
	if !e.log.Enabled(r.Context(), level) {
		return
	}
	e.log.LogAttrs(r.Context(), level, "request could not be answered", slog.String("path", e.Path),
		slog.Int("status", h.status), slog.String("reason", text.Printable(err.Error(), maxReason)),
		slog.String("remote", r.RemoteAddr), traceID(r, span))
}

// logDecision writes a line for each review with a denial or a warning. At level debug, it writes a line for every
// review.
func (e *endpoint) logDecision(r *http.Request, d *admission.Decision, outcome string, span *telemetry.ReviewSpan) {
	level, msg := slog.LevelDebug, outcome
	switch {
	case d.Denies():
		level, msg = slog.LevelInfo, "denied"
	case d.Warns():
		level, msg = slog.LevelInfo, "warned"
	}
	if !e.log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("path", e.Path),
		slog.String("uid", d.UID),
		slog.String("operation", text.Printable(string(d.Operation), text.Short)),
		slog.String("namespace", text.Printable(d.Namespace, admission.MaxName)),
		slog.String("name", text.Printable(d.Name, admission.MaxName)),
		slog.String("user", text.Printable(d.User, admission.MaxName)),
		slog.Any("rules", d.Rules()),
		slog.String("policy", d.Policy),
		traceID(r, span),
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
	e.log.LogAttrs(r.Context(), level, msg, attrs...)
}

// imageOutcomes contains the label values of outcomes. They are separate from the words for users, which may change.
var imageOutcomes = [policy.Outcomes]string{
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
}
