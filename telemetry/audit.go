package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/push"
	"github.com/prometheus/common/expfmt"
)

// Audit contains the metrics of one audit of a cluster. Unlike the metrics of a serving process, some of its series
// have a namespace as a label. The caller limits the number of namespaces.
type Audit struct {
	prometheus.Gatherer

	objects    *prometheus.GaugeVec
	findings   *prometheus.GaugeVec
	images     *prometheus.GaugeVec
	unreadable prometheus.Gauge
	policy     *prometheus.GaugeVec
	ended      prometheus.Gauge
}

// NewAudit returns the instruments of an audit in a separate registry. Metrics of the Go runtime would describe a
// process that has ended, and metrics of a server do not apply to an audit.
func NewAudit() *Audit {
	reg := prometheus.NewRegistry()
	f := factory{promauto.With(reg)}
	return &Audit{
		Gatherer: reg,
		objects: f.gauges("evergate_audit_objects",
			"Objects that the last audit evaluated, by kind and by decision.", "kind", "decision"),
		findings: f.gauges("evergate_audit_findings",
			"Findings of the last audit, once for each object.", "namespace", "rule", "check", "mode"),
		images: f.gauges("evergate_audit_images",
			"Pod images in the last audit, by the mirrors entry that covers them and by outcome.",
			"namespace", "entry", "outcome"),
		unreadable: f.gauge("evergate_audit_unreadable_objects",
			"Objects and files that the last audit could not read or understand."),
		policy: f.gauges("evergate_audit_policy_info",
			"1 for the hash of the policy that the last audit used.", "hash"),
		ended: f.gauge("evergate_audit_last_run_timestamp_seconds",
			"When the last audit ended, in seconds since 1970."),
	}
}

// Objects sets the number of objects of a kind that have a decision.
func (a *Audit) Objects(kind, decision string, n int) {
	a.objects.WithLabelValues(kind, decision).Set(float64(n))
}

// Findings sets the number of findings of a check in a namespace.
func (a *Audit) Findings(namespace, rule, check, mode string, n int) {
	a.findings.WithLabelValues(namespace, rule, check, mode).Set(float64(n))
}

// Images sets the number of images in a namespace that have an outcome. entry is empty if no entry covers them.
func (a *Audit) Images(namespace, entry, outcome string, n int) {
	a.images.WithLabelValues(namespace, entry, outcome).Set(float64(n))
}

// Ended sets the time at which the audit ended, the hash of its policy, and the number of inputs that it could not
// understand.
func (a *Audit) Ended(at time.Time, policy string, unreadable int) {
	a.ended.Set(float64(at.Unix()))
	a.policy.WithLabelValues(policy).Set(1)
	a.unreadable.Set(float64(unreadable))
}

// WriteFile writes the metrics in Prometheus' text format for the textfile collector of the node exporter. It replaces
// the file atomically, so the collector never reads part of a file.
func (a *Audit) WriteFile(name string) error {
	err := prometheus.WriteToTextfile(name, a)
	if failed, ok := errors.AsType[*fs.PathError](err); ok { // its path is a temporary file in the same directory
		err = fmt.Errorf("%s: %w", name, failed.Err)
	}
	if err != nil {
		return fmt.Errorf("cannot write the counts: %w", err)
	}
	return nil
}

const (
	// auditJob is the group of the metrics in a Pushgateway, and therefore the value of their label job.
	auditJob = "evergate-audit"

	// pushTimeout is far longer than a Pushgateway needs for a megabyte. The audit may already have run for minutes.
	pushTimeout = 30 * time.Second
)

// Push sends the metrics to a Pushgateway. They replace the metrics of the previous audit. address is its URL. A
// user and a password in the URL are sent as basic authentication and never appear in an error.
func (a *Audit) Push(ctx context.Context, address string) error {
	to, err := pushURL(address)
	if err != nil {
		return err
	}
	user := to.User
	to.User = nil
	p := push.New(to.String(), auditJob).Gatherer(a).
		Format(expfmt.NewFormat(expfmt.TypeTextPlain)). // compatible servers also accept this format
		Client(&http.Client{
			Timeout: pushTimeout,
			// Following a redirect would turn the PUT into a GET, and the response to the GET would look like success.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		})
	if user != nil {
		password, _ := user.Password()
		p.BasicAuth(user.Username(), password)
	}
	if err := p.PushContext(ctx); err != nil {
		return fmt.Errorf("cannot push the counts: %w", err)
	}
	return nil
}

// pushURL also accepts host:port. Its errors do not repeat the address, because it may contain a password.
func pushURL(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	to, err := url.Parse(address)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, errors.New("cannot push the counts: the address of a Pushgateway is a URL such as " +
			"http://pushgateway.monitoring:9091")
	}
	return to, nil
}
