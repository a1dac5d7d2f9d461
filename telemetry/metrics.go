// Package telemetry provides metrics for Prometheus, spans for OpenTelemetry, and a count of dropped log lines.
//
//	metrics.go, policy.go, lifecycle.go, certificates.go   the instruments
//	scrape.go                                              the handler that serves them
//	tracing.go, tracing_env.go                             the tracer, and the environment variables that configure it
//	review.go                                              the metrics, the span and the log line of a review
//	spans.go                                               the queue of spans, and a count of dropped spans
//
// A client can never choose the value of a label, such as a namespace, a user, an image or a host. Label values come
// from the code or from the policy, so the policy determines the number of series.
package telemetry

import (
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/evergate/evergate/internal/logthrottle"
)

// Metrics contains the instruments of one process. It is the Observer of policystore, lifecycle and certs. Its methods
// are safe for concurrent use, unless their comments restrict it.
type Metrics struct {
	reviews  *prometheus.CounterVec
	duration *prometheus.HistogramVec
	waits    prometheus.Histogram
	inFlight prometheus.Gauge
	bytes    prometheus.Gauge
	rejected *prometheus.CounterVec
	findings *prometheus.CounterVec
	images   *prometheus.CounterVec

	linesDropped *prometheus.CounterVec
	build        *prometheus.GaugeVec

	policy       policyMetrics
	lifecycle    lifecycleMetrics
	certificates certificateMetrics
	spans        spanMetrics
}

// reviewSeconds returns the bounds of the review duration histogram. A decision takes well below a millisecond, so the
// first four bounds distinguish a healthy process from a process that waits for a core. Then there are three bounds per
// decade. The last three are the times that the API server waits: timeoutSeconds in the manifests, its default and its
// maximum.
func reviewSeconds() []float64 {
	return []float64{100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 3, 10, 30}
}

// waitSeconds returns the bounds of the histogram of waits for a slot. The first bucket counts reviews that found a
// free slot. Waits up to 2.5 ms are caused by ordinary reviews, and waits up to 100 ms by costly reviews or a busy
// core. Users notice longer waits. The last three bounds are the queue deadlines of clients that wait 3, 10 and 30 s,
// after which a review is rejected.
func waitSeconds() []float64 {
	return []float64{0, 100e-6, 500e-6, 2.5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2.4, 9, 29}
}

// NewMetrics registers all instruments with reg. It panics if any instrument is already registered, because that is a
// programming error.
//
// Counters whose labels have fixed values begin at 0, because increase() and rate() ignore the first event of a new
// series. The counters of findings and images do not, because their labels come from the policy.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := factory{promauto.With(reg)}
	m := &Metrics{
		reviews: f.counters("evergate_reviews_total",
			"Reviews, by path, operation of the request and outcome.", "path", "operation", "outcome"),
		duration: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "evergate_review_duration_seconds",
			Help:    "Time from a review's header to its response, including reading its body and waiting.",
			Buckets: reviewSeconds(),
		}, []string{"path"}),
		waits: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "evergate_review_wait_seconds",
			Help:    "Time that reviews waited for a slot, including reviews that did not get one. It is 0 if a slot was free.",
			Buckets: waitSeconds(),
		}),
		inFlight: f.gauge("evergate_reviews_in_flight",
			"Reviews that are being decoded or decided now."),
		bytes: f.gauge("evergate_body_bytes_in_flight",
			"Bytes reserved now for the bodies of reviews."),
		rejected: f.counters("evergate_reviews_rejected_total",
			"Reviews that were not started, by reason.", "reason"),
		findings: f.counters("evergate_findings_total",
			"Findings of rules. If existed is true, the finding existed before the update and did not deny it.",
			"rule", "check", "mode", "existed"),
		images: f.counters("evergate_images_total",
			"Pod images, by outcome and by the mirrors entry that covers them.", "entry", "outcome"),
		build: f.gauges("evergate_build_info",
			"1 for the running build.", "version", "revision", "goversion"),
		linesDropped: f.counters("evergate_log_lines_dropped_total",
			"Log lines about reviews that were dropped because of the rate limit, by level.", "level"),
		policy:       newPolicyMetrics(f),
		lifecycle:    newLifecycleMetrics(f),
		certificates: newCertificateMetrics(f),
		spans:        newSpanMetrics(f),
	}
	for _, reason := range rejectedReasons() {
		m.rejected.WithLabelValues(reason)
	}
	return m
}

// factory creates and registers instruments.
type factory struct{ promauto.Factory }

func (f factory) counter(name, help string) prometheus.Counter {
	return f.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func (f factory) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (f factory) gauge(name, help string) prometheus.Gauge {
	return f.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func (f factory) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return f.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

// rejectedReasons returns the reasons that package handlers uses for reviews that were not started.
func rejectedReasons() []string {
	return []string{
		"reviews_timed_out", "policy_reviews_timed_out", "body_bytes_timed_out", "body_bytes_evicted", "client_gone",
	}
}

// ReviewsInFlight returns the gauge of reviews that are being decoded or decided.
func (m *Metrics) ReviewsInFlight() prometheus.Gauge { return m.inFlight }

// ReviewWaits returns the observer of the time that reviews waited for a slot, in seconds.
func (m *Metrics) ReviewWaits() prometheus.Observer { return m.waits }

// BodyBytesInFlight returns the gauge of bytes that are reserved for bodies.
func (m *Metrics) BodyBytesInFlight() prometheus.Gauge { return m.bytes }

// Throttle returns a logger that writes to log within the limit of package logthrottle and counts the dropped lines.
func (m *Metrics) Throttle(log *slog.Logger) *slog.Logger {
	return logthrottle.New(log, func(l slog.Level) logthrottle.Counter {
		return m.linesDropped.WithLabelValues(strings.ToLower(l.String()))
	})
}

// Built records the running build: its version, the revision of its source, and the version of Go.
func (m *Metrics) Built(version, revision, goVersion string) {
	m.build.WithLabelValues(version, revision, goVersion).Set(1)
}
