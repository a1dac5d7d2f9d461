package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/evergate/evergate/policy"
)

// policyMetrics hold which policy decides. Its age is time() - evergate_policy_loaded_timestamp_seconds.
type policyMetrics struct {
	info    *prometheus.GaugeVec
	loaded  prometheus.Gauge
	entries *prometheus.GaugeVec
	loads   *prometheus.CounterVec
	current prometheus.Gauge
	expiry  *prometheus.GaugeVec
	hash    string // that info shows
}

func newPolicyMetrics(f promauto.Factory) policyMetrics {
	m := policyMetrics{
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
		loads: f.NewCounterVec(prometheus.CounterOpts{
			Name: "evergate_policy_loads_total",
			Help: "Policies loaded and policies refused, the first one included.",
		}, []string{"result"}),
		expiry: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evergate_policy_exception_expiry_timestamp_seconds",
			Help: "When the first thing of an entry of the policy that decides ends by date, in seconds since 1970: the entry " +
				"of exceptions, its exclude, or an entry in mode warn or audit itself.",
		}, []string{"rule"}),
		current: f.NewGauge(prometheus.GaugeOpts{
			Name: "evergate_policy_last_load_successful",
			Help: "0 while the newest policy files are refused and an older policy decides.",
		}),
	}
	m.loads.WithLabelValues("loaded")
	m.loads.WithLabelValues("refused")
	return m
}

// PolicyLoaded records the policy that decides from now on. It implements policystore.Observer, which calls it from one
// goroutine at a time. expiries begin with the earliest.
func (m *Metrics) PolicyLoaded(hash string, counts policy.Counts, expiries []policy.Expiry) {
	p := &m.policy
	if hash != p.hash { // the same policy may be loaded again, and is no younger for it
		p.hash = hash
		p.info.Reset() // the hash of a former policy would otherwise stay for ever
		p.info.WithLabelValues(hash).Set(1)
		p.loaded.SetToCurrentTime()
		p.expiry.Reset()
		for _, e := range slices.Backward(expiries) { // of two of an entry, the earlier one stays
			p.expiry.WithLabelValues(e.Rule).Set(float64(e.Ends.Unix()))
		}
	}
	for kind, n := range counts.All() {
		p.entries.WithLabelValues(kind).Set(float64(n))
	}
	p.loads.WithLabelValues("loaded").Inc()
	p.current.Set(1)
}

// PolicyRefused records that policy files could not be loaded, so that the policy before them goes on deciding.
func (m *Metrics) PolicyRefused() {
	m.policy.loads.WithLabelValues("refused").Inc()
	m.policy.current.Set(0)
}
