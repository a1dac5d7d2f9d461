// Package telemetry makes Evergate observable: metrics for Prometheus, spans for OpenTelemetry, and a count of
// the log lines that were dropped.
//
//	metrics.go, policy.go, lifecycle.go, certificates.go   the instruments
//	scrape.go                                              how they are read
//	tracing.go, tracing_env.go                             what makes spans, and the variables that say how
//	review_span.go                                         the span of a review
//	spans.go                                               the way of spans to the collector, and which are lost on it
//
// What a client can choose never becomes a label value: not a namespace, a user, an image or a host. Label values come
// from the code or from the policy, so that the number of series is known when the policy is.
package telemetry

import (
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/evergate/evergate/internal/logthrottle"
)

// Metrics holds the instruments of one process. It is the Observer of policystore, lifecycle and certs. Unless a method
// says otherwise, any number of goroutines may call it.
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

// reviewSeconds returns the bounds of the review duration histogram. Deciding takes well below a millisecond, so the
// first four bounds tell a healthy process from one that waits for a core. Then come three per decade; the last three
// are how long the API server waits: timeoutSeconds as the kit sets it, as it is by default, and at most.
func reviewSeconds() []float64 {
	return []float64{100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 3, 10, 30}
}

// waitSeconds returns the bounds of the histogram of waits for a slot. The first holds the reviews that found one at
// once. Up to 2.5 ms reviews wait for ordinary ones, up to 100 ms for costly ones or for a core; users notice longer
// waits. The last three are the queue deadlines of clients that wait 3, 10 and 30 s, after which a review is rejected.
func waitSeconds() []float64 {
	return []float64{0, 100e-6, 500e-6, 2.5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2.4, 9, 29}
}

// NewMetrics registers all instruments with reg. It panics when one of them is registered already: that is a mistake in
// the wiring.
//
// Counters whose labels have fixed values begin at 0: increase() and rate() do not see the first event of a series that
// appears with it. The counters of findings and images do not: their labels come from the policy.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	m := &Metrics{
		reviews: f.NewCounterVec(prometheus.CounterOpts{
			Name: "evergate_reviews_total",
			Help: "Reviews by the path they came in on, the operation they are about and what became of them.",
		}, []string{"path", "operation", "outcome"}),
		duration: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "evergate_review_duration_seconds",
			Help:    "Time from a review's header to its answer, with the reading of its body and any waiting.",
			Buckets: reviewSeconds(),
		}, []string{"path"}),
		waits: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "evergate_review_wait_seconds",
			Help:    "Time that reviews waited for a slot, 0 where one was free, and those included that got none.",
			Buckets: waitSeconds(),
		}),
		inFlight: f.NewGauge(prometheus.GaugeOpts{
			Name: "evergate_reviews_in_flight",
			Help: "Reviews that are being decoded or decided now.",
		}),
		bytes: f.NewGauge(prometheus.GaugeOpts{
			Name: "evergate_body_bytes_in_flight",
			Help: "Bytes reserved now for the bodies of reviews.",
		}),
		rejected: f.NewCounterVec(prometheus.CounterOpts{
			Name: "evergate_reviews_rejected_total",
			Help: "Reviews that were not started, by reason.",
		}, []string{"reason"}),
		findings: f.NewCounterVec(prometheus.CounterOpts{
			Name: "evergate_findings_total",
			Help: "What rules found; existed says that the object had it before the update, so that it did not deny.",
		}, []string{"rule", "check", "mode", "existed"}),
		images: f.NewCounterVec(prometheus.CounterOpts{
			Name: "evergate_images_total",
			Help: "Images of Pods by the mirrors entry that decided and by what became of them.",
		}, []string{"entry", "outcome"}),
		build: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evergate_build_info",
			Help: "1 for the build that runs.",
		}, []string{"version", "revision", "goversion"}),
		linesDropped: f.NewCounterVec(prometheus.CounterOpts{
			Name: "evergate_log_lines_dropped_total",
			Help: "Log lines about reviews that were left out because there were too many, by level.",
		}, []string{"level"}),
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

// rejectedReasons returns why reviews are not started, in metrics, as package handlers words it.
func rejectedReasons() []string {
	return []string{
		"reviews_timed_out", "policy_reviews_timed_out", "body_bytes_timed_out", "body_bytes_evicted", "client_gone",
	}
}

// Rejected counts a review that was not started. reason is one of a few fixed words.
func (m *Metrics) Rejected(reason string) { m.rejected.WithLabelValues(reason).Inc() }

// ReviewsInFlight is the gauge of reviews that are being decoded or decided.
func (m *Metrics) ReviewsInFlight() prometheus.Gauge { return m.inFlight }

// ReviewWaits takes how many seconds a review waited for its slot.
func (m *Metrics) ReviewWaits() prometheus.Observer { return m.waits }

// BodyBytesInFlight is the gauge of bytes that are reserved for bodies.
func (m *Metrics) BodyBytesInFlight() prometheus.Gauge { return m.bytes }

// Throttle returns a logger that writes what log does within the bound of package logthrottle, and counts the lines
// that are dropped.
func (m *Metrics) Throttle(log *slog.Logger) *slog.Logger {
	return logthrottle.New(log, func(l slog.Level) logthrottle.Counter {
		return m.linesDropped.WithLabelValues(strings.ToLower(l.String()))
	})
}

// Found counts one finding. All but existed come from the policy.
func (m *Metrics) Found(rule, check, mode string, existed bool) {
	m.findings.WithLabelValues(rule, check, mode, strconv.FormatBool(existed)).Inc()
}

// Image counts an image of a Pod. entry is the mirrors entry that decided, empty where none did; outcome is one of a
// few fixed words.
func (m *Metrics) Image(entry, outcome string) { m.images.WithLabelValues(entry, outcome).Inc() }

// Endpoint holds the series of one path, so that a review does not look them up by their labels.
type Endpoint struct {
	reviews  *prometheus.CounterVec
	duration prometheus.ExemplarObserver
}

// Endpoint returns the series of a path, which must be one that the server routes.
func (m *Metrics) Endpoint(path string) Endpoint {
	e := Endpoint{
		reviews:  m.reviews.MustCurryWith(prometheus.Labels{"path": path}),
		duration: m.duration.WithLabelValues(path).(prometheus.ExemplarObserver), // as every histogram is
	}
	e.begin()
	return e
}

// begin makes the series whose first event matters: of denials, and of what went wrong. The latter counts under the
// operation unknown, since such a review was not read or not understood. A deletion is never denied. Allowed reviews
// need no such series: they come by the thousand.
func (e Endpoint) begin() {
	for operation, outcomes := range map[string][]string{
		"CREATE":  {"denied"},
		"UPDATE":  {"denied"},
		"unknown": {"unjudged", "invalid", "rejected", "panicked"},
	} {
		for _, outcome := range outcomes {
			e.reviews.WithLabelValues(operation, outcome)
		}
	}
}

// Reviewed counts a review and how long it took. operation is as the review says: one that Kubernetes does not have
// counts as "other", and one of a review that was not understood as "unknown". traceID is that of a review that is
// traced, and becomes the exemplar of its bucket; empty for others.
func (e Endpoint) Reviewed(operation, outcome string, took time.Duration, traceID string) {
	e.reviews.WithLabelValues(operationLabel(operation), outcome).Inc()
	var exemplar prometheus.Labels // nil for none
	if traceID != "" {
		exemplar = prometheus.Labels{"trace_id": traceID}
	}
	e.duration.ObserveWithExemplar(took.Seconds(), exemplar)
}

func operationLabel(operation string) string {
	switch operation {
	case "CREATE", "UPDATE", "DELETE", "CONNECT":
		return operation
	case "":
		return "unknown"
	}
	return "other"
}

// Built records which build runs: its version, the revision of its source, and the version of Go.
func (m *Metrics) Built(version, revision, goVersion string) {
	m.build.WithLabelValues(version, revision, goVersion).Set(1)
}
