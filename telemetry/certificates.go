package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/evergate/evergate/certs"
)

// certificateMetrics hold when certificates expire, so that an alert fires before they do.
type certificateMetrics struct {
	notAfter *prometheus.GaugeVec
	loads    *prometheus.CounterVec
}

func newCertificateMetrics(f promauto.Factory) certificateMetrics {
	m := certificateMetrics{
		notAfter: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evergate_certificate_not_after_timestamp_seconds",
			Help: "When the certificate in force expires, in seconds since 1970.",
		}, []string{"use"}),
		loads: f.NewCounterVec(prometheus.CounterOpts{
			Name: "evergate_certificate_loads_total",
			Help: "Certificates loaded and certificates refused, the first one included.",
		}, []string{"use", "result"}),
	}
	for _, use := range []certs.Use{certs.Serving, certs.ClientCA} {
		m.loads.WithLabelValues(string(use), "loaded")
		m.loads.WithLabelValues(string(use), "refused")
	}
	return m
}

// CertificateLoaded records that a certificate comes into force.
func (m *Metrics) CertificateLoaded(use certs.Use, notAfter time.Time) {
	m.certificates.notAfter.WithLabelValues(string(use)).Set(float64(notAfter.Unix()))
	m.certificates.loads.WithLabelValues(string(use), "loaded").Inc()
}

// CertificateRefused counts files that hold no certificate that can be used.
func (m *Metrics) CertificateRefused(use certs.Use) {
	m.certificates.loads.WithLabelValues(string(use), "refused").Inc()
}
