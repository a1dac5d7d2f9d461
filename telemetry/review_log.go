package telemetry

import (
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
)

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
