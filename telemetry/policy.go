package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// policyMetrics tell which policy decides. Age is left to the reader: time() - evergate_policy_loaded_timestamp_seconds.
type policyMetrics struct {
	info    *prometheus.GaugeVec
	loaded  prometheus.Gauge
	entries *prometheus.GaugeVec
	reloads *prometheus.CounterVec
	current prometheus.Gauge
}

func newPolicyMetrics(f promauto.Factory) policyMetrics {
	return policyMetrics{
		info: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evergate_policy_info",
			Help: "1 for the hash of the policy that decides.",
		}, []string{"hash"}),
		loaded: f.NewGauge(prometheus.GaugeOpts{
			Name: "evergate_policy_loaded_timestamp_seconds",
			Help: "When the policy that decides was loaded, in seconds since 1970.",
		}),
		entries: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evergate_policy_entries",
			Help: "Entries of the policy that decides, by kind, those that are off left out.",
		}, []string{"kind"}),
		reloads: f.NewCounterVec(prometheus.CounterOpts{
			Name: "evergate_policy_loads_total",
			Help: "Policies loaded and policies refused, the first one included.",
		}, []string{"result"}),
		current: f.NewGauge(prometheus.GaugeOpts{
			Name: "evergate_policy_last_load_successful",
			Help: "0 while the newest policy files are refused and an older policy decides.",
		}),
	}
}

// PolicyLoaded tells that another policy decides from now on: its hash and the number of its entries by kind.
func (m *Metrics) PolicyLoaded(hash string, entries map[string]int, at time.Time) {
	p := &m.policy
	p.info.Reset() // the hash of a former policy would otherwise stay for ever
	p.info.WithLabelValues(hash).Set(1)
	p.loaded.Set(float64(at.UnixMilli()) / 1000)
	for kind, n := range entries {
		p.entries.WithLabelValues(kind).Set(float64(n))
	}
	p.reloads.WithLabelValues("loaded").Inc()
	p.current.Set(1)
}

// PolicyRefused tells that policy files could not be loaded and that the policy before them goes on deciding.
func (m *Metrics) PolicyRefused() {
	m.policy.reloads.WithLabelValues("refused").Inc()
	m.policy.current.Set(0)
}
