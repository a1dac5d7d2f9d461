package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/policy"
)

// policyMetrics describes the active policy. Its age is time() - evergate_policy_loaded_timestamp_seconds.
type policyMetrics struct {
	info    *prometheus.GaugeVec
	loaded  prometheus.Gauge
	entries *prometheus.GaugeVec
	loads   *prometheus.CounterVec
	current prometheus.Gauge
	expiry  *prometheus.GaugeVec
	hash    string // the hash that info shows
}

func newPolicyMetrics(f factory) policyMetrics {
	m := policyMetrics{
		info: f.gauges("evergate_policy_info",
			"1 for the hash of the active policy.", "hash"),
		loaded: f.gauge("evergate_policy_loaded_timestamp_seconds",
			"Time at which the active policy was loaded, in seconds since 1970."),
		entries: f.gauges("evergate_policy_entries",
			"Entries in the active policy, by kind, without entries in mode off.", "kind"),
		loads: f.counters("evergate_policy_loads_total",
			"Attempts to load a policy, including the first one, by result.", "result"),
		expiry: f.gauges("evergate_policy_exception_expiry_timestamp_seconds",
			"Earliest end of a part of the active policy, in seconds since 1970. The part is an exceptions entry, "+
				"an exclude block, or an entry in mode warn or audit.", "rule"),
		current: f.gauge("evergate_policy_last_load_successful",
			"0 while the newest policy files fail to load and an older policy is active."),
	}
	m.loads.WithLabelValues("loaded")
	m.loads.WithLabelValues("failed")
	return m
}

// PolicyLoaded records the active policy. It implements policystore.Observer, which calls it from one goroutine at a
// time. expiries must be sorted, with the earliest first.
func (m *Metrics) PolicyLoaded(hash string, counts policy.Counts, expiries []policy.Expiry) {
	p := &m.policy
	if hash != p.hash { // loading the same policy again does not change its age
		p.hash = hash
		p.info.Reset() // otherwise the hash of an earlier policy would stay forever
		p.info.WithLabelValues(hash).Set(1)
		p.loaded.SetToCurrentTime()
		p.expiry.Reset()
		for _, e := range slices.Backward(expiries) { // backward, because the earliest expiry of an entry must stay
			p.expiry.WithLabelValues(e.Rule).Set(float64(e.Ends.Unix()))
		}
	}
	for kind, n := range counts.All() {
		p.entries.WithLabelValues(kind).Set(float64(n))
	}
	p.loads.WithLabelValues("loaded").Inc()
	p.current.Set(1)
}

// PolicyLoadFailed records that policy files failed to load and that the previous policy stays active.
func (m *Metrics) PolicyLoadFailed() {
	m.policy.loads.WithLabelValues("failed").Inc()
	m.policy.current.Set(0)
}
