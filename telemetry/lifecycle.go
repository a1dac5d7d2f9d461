package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// lifecycleMetrics counts the phases, self-probes and evicted connections of the process.
type lifecycleMetrics struct {
	phase     *prometheus.GaugeVec
	lasted    *prometheus.GaugeVec
	open      *prometheus.GaugeVec
	probes    *prometheus.CounterVec
	probeTime prometheus.Histogram
	evicted   prometheus.Counter
}

func newLifecycleMetrics(f factory) lifecycleMetrics {
	m := lifecycleMetrics{
		phase: f.gauges("evergate_phase",
			"1 for the current phase of the process, 0 for earlier phases.", "phase"),
		lasted: f.gauges("evergate_phase_duration_seconds",
			"Duration of a phase that has ended.", "phase"),
		open: f.gauges("evergate_phase_open_connections",
			"Connections that were open when a phase ended.", "phase"),
		probes: f.counters("evergate_self_probes_total",
			"Self-probes through the real listener, by result.", "result"),
		probeTime: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "evergate_self_probe_duration_seconds",
			Help:    "Duration of self-probes, including the TLS handshake.",
			Buckets: reviewSeconds(),
		}),
		evicted: f.counter("evergate_connections_evicted_total",
			"Connections that were closed because too many were open."),
	}
	for _, result := range []string{"ok", "busy", "wrong", "hung"} { // the words of package lifecycle
		m.probes.WithLabelValues(result)
	}
	return m
}

// PhaseChanged records that the phase from has ended, its duration, and how many connections were open at its end.
func (m *Metrics) PhaseChanged(from, to string, lasted time.Duration, open int) {
	l := &m.lifecycle
	l.lasted.WithLabelValues(from).Set(lasted.Seconds())
	l.open.WithLabelValues(from).Set(float64(open))
	l.phase.WithLabelValues(from).Set(0)
	l.phase.WithLabelValues(to).Set(1)
}

// SelfProbed counts a self-probe. result is one of a few fixed words.
func (m *Metrics) SelfProbed(result string, took time.Duration) {
	m.lifecycle.probes.WithLabelValues(result).Inc()
	m.lifecycle.probeTime.Observe(took.Seconds())
}

// ConnectionEvicted counts a connection that was closed because too many were open.
func (m *Metrics) ConnectionEvicted() { m.lifecycle.evicted.Inc() }
