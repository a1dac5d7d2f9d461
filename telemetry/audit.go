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
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Audit holds what one audit of a cluster counts. Unlike those of a serving process, some of its series carry a
// namespace: the caller bounds how many of them are named.
type Audit struct {
	reg        *prometheus.Registry
	objects    *prometheus.GaugeVec
	findings   *prometheus.GaugeVec
	images     *prometheus.GaugeVec
	unreadable prometheus.Gauge
	policy     *prometheus.GaugeVec
	ended      prometheus.Gauge
}

// NewAudit returns the instruments of an audit in a registry of their own. The metrics of the Go runtime would be those
// of a process that is gone, and those of a server do not belong to an audit.
func NewAudit() *Audit {
	reg := prometheus.NewRegistry()
	f := promauto.With(reg)
	return &Audit{
		reg: reg,
		objects: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evergate_audit_objects",
			Help: "Objects that the last audit judged, by kind and by what would become of them now.",
		}, []string{"kind", "decision"}),
		findings: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evergate_audit_findings",
			Help: "What rules found in the last audit, once for each object.",
		}, []string{"namespace", "rule", "check", "mode"}),
		images: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evergate_audit_images",
			Help: "Images of Pods in the last audit by the mirrors entry that covers them and by where they are pulled from.",
		}, []string{"namespace", "entry", "outcome"}),
		unreadable: f.NewGauge(prometheus.GaugeOpts{
			Name: "evergate_audit_unreadable_objects",
			Help: "Parts of its input that the last audit could not read or understand.",
		}),
		policy: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evergate_audit_policy_info",
			Help: "1 for the hash of the policy that the last audit judged by.",
		}, []string{"hash"}),
		ended: f.NewGauge(prometheus.GaugeOpts{
			Name: "evergate_audit_last_run_timestamp_seconds",
			Help: "When the last audit ended, in seconds since 1970.",
		}),
	}
}

// Objects sets how many objects of a kind have a decision.
func (a *Audit) Objects(kind, decision string, n int) {
	a.objects.WithLabelValues(kind, decision).Set(float64(n))
}

// Findings sets how often a rule found something in a namespace.
func (a *Audit) Findings(namespace, rule, check, mode string, n int) {
	a.findings.WithLabelValues(namespace, rule, check, mode).Set(float64(n))
}

// Images sets how many images of a namespace have an outcome. entry is empty where no entry covers them.
func (a *Audit) Images(namespace, entry, outcome string, n int) {
	a.images.WithLabelValues(namespace, entry, outcome).Set(float64(n))
}

// Ended sets when the audit was over, which policy judged, and how much of the input could not be understood.
func (a *Audit) Ended(at time.Time, policy string, unreadable int) {
	a.ended.Set(float64(at.Unix()))
	a.policy.WithLabelValues(policy).Set(1)
	a.unreadable.Set(float64(unreadable))
}

// Gather makes an Audit a prometheus.Gatherer.
func (a *Audit) Gather() ([]*dto.MetricFamily, error) { return a.reg.Gather() }

// WriteFile writes the counts in Prometheus' text format, as the textfile collector of the node exporter reads them.
// The file is replaced at once, so that the collector never reads half of it.
func (a *Audit) WriteFile(name string) error {
	err := prometheus.WriteToTextfile(name, a)
	if failed, ok := errors.AsType[*fs.PathError](err); ok { // it names a temporary file beside
		err = fmt.Errorf("%s: %w", name, failed.Err)
	}
	if err != nil {
		return fmt.Errorf("cannot write the counts: %w", err)
	}
	return nil
}

const (
	// auditJob is the group of a Pushgateway that the counts are put into, and so their label job.
	auditJob = "evergate-audit"

	// pushTimeout is far more than a Pushgateway takes for a megabyte, and the audit may have run for minutes already.
	pushTimeout = 30 * time.Second
)

// Push puts the counts into a Pushgateway, where they replace those of the audit before. address is its URL; a user and
// a password in it are sent as such, and stand in no error.
func (a *Audit) Push(ctx context.Context, address string) error {
	to, err := pushURL(address)
	if err != nil {
		return err
	}
	user := to.User
	to.User = nil
	p := push.New(to.String(), auditJob).Gatherer(a).
		Format(expfmt.NewFormat(expfmt.TypeTextPlain)). // what others than the Pushgateway itself take, too
		Client(&http.Client{
			Timeout: pushTimeout,
			// Followed, a redirect would turn the PUT into a GET, and an answer to that into success.
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

// pushURL understands host:port too. Its errors do not repeat the address, in which there may be a password.
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
