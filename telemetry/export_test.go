package telemetry

// Traced reports whether the review has a span.
func (v *Review) Traced() bool { return v.span != nil }

// LoggedTrace returns the trace in the log line of the review. It is empty if there is none.
func (v *Review) LoggedTrace() string {
	if a := v.traceID(); a.Key != "" {
		return a.Value.String()
	}
	return ""
}
