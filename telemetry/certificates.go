package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/certs"
)

// certificateMetrics contains the expiry times of certificates. Alerts use them to fire before a certificate expires.
type certificateMetrics struct {
	notAfter *prometheus.GaugeVec
	loads    *prometheus.CounterVec
}

func newCertificateMetrics(f factory) certificateMetrics {
	m := certificateMetrics{
		notAfter: f.gauges("evergate_certificate_not_after_timestamp_seconds",
			"Expiry of the active certificate, in seconds since 1970.", "use"),
		loads: f.counters("evergate_certificate_loads_total",
			"Attempts to load a certificate, including the first one, by result.", "use", "result"),
	}
	for _, use := range []certs.Use{certs.Serving, certs.ClientCA} {
		m.loads.WithLabelValues(string(use), "loaded")
		m.loads.WithLabelValues(string(use), "failed")
	}
	return m
}

// CertificateLoaded records that a certificate became active.
func (m *Metrics) CertificateLoaded(use certs.Use, notAfter time.Time) {
	m.certificates.notAfter.WithLabelValues(string(use)).Set(float64(notAfter.Unix()))
	m.certificates.loads.WithLabelValues(string(use), "loaded").Inc()
}

// CertificateLoadFailed counts files that do not contain a usable certificate.
func (m *Metrics) CertificateLoadFailed(use certs.Use) {
	m.certificates.loads.WithLabelValues(string(use), "failed").Inc()
}
