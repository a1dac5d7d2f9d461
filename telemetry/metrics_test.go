package telemetry_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/certs"
	"github.com/evergate/evergate/lifecycle"
	"github.com/evergate/evergate/lifecycle/policystore"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/telemetry"
)

var (
	_ policystore.Observer = (*telemetry.Metrics)(nil)
	_ certs.Observer       = (*telemetry.Metrics)(nil)
	_ lifecycle.Observer   = (*telemetry.Metrics)(nil)
)

// used returns a registry in which each instrument has been used once.
func used() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	m := telemetry.NewMetrics(reg)
	d := &admission.Decision{
		Head: review.Head{Attributes: object.Attributes{Operation: "CREATE"}}, Patch: []byte("[]"),
		Findings: []policy.Finding{{Rule: "team-hosts", Check: "hosts.allowed", Mode: policy.Enforce}},
	}
	d.Rewriting.Images = []policy.ImageOutcome{{Entry: "hub", Outcome: policy.Rewritten}}
	reviewed := time.Now().Add(-15 * time.Second)
	endpointOf(m, nil).Begin(request(), reviewed, time.Second).Answer(telemetry.Result{Decision: d})
	endpointOf(m, nil).Begin(request(), reviewed, time.Second).Answer(telemetry.Result{Failure: &telemetry.Failure{
		Outcome: telemetry.Rejected, Reason: "reviews_timed_out",
	}})
	m.ReviewsInFlight().Add(2)
	m.BodyBytesInFlight().Add(4096)
	m.ReviewWaits().Observe(0)
	m.Built("v1.2.3", "0123456", "go1.26")
	m.PolicyLoaded("aaaaaaaaaaaa", policy.Counts{Mirrors: 1}, []policy.Expiry{{Rule: "former", Ends: time.Unix(1, 0)}})
	m.PolicyLoaded("0123456789ab", policy.Counts{Mirrors: 3, Ingresses: 2}, []policy.Expiry{
		{Rule: "team-hosts", Ends: time.Unix(1801440000, 0)}, {Rule: "legacy", Ends: time.Unix(1801440000, 0)},
		{Rule: "team-hosts", Ends: time.Unix(1811440000, 0)},
	})
	m.PolicyLoadFailed()
	m.PhaseChanged("listening", "ready", 150*time.Millisecond, 7)
	m.SelfProbed("ok", time.Millisecond)
	m.ConnectionEvicted()
	_ = m.NewTracing(telemetry.TracingConfig{Exporter: &fakeCollector{}}).Stop(context.Background())
	m.Throttle(slog.New(slog.DiscardHandler))
	m.CertificateLoaded(certs.Serving, time.Unix(1_800_000_000, 0))
	m.CertificateLoadFailed(certs.ClientCA)
	return reg
}

func scrape(t *testing.T, g prometheus.Gatherer) string {
	t.Helper()
	w := httptest.NewRecorder()
	telemetry.Scrape(g, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(w.Body)
	must(t, err)
	return string(text)
}

func TestMetrics(t *testing.T) {
	text := scrape(t, used())
	for _, want := range []string{
		`evergate_reviews_total{operation="CREATE",outcome="denied",path="/mutate/pods"} 1`,
		`evergate_reviews_total{operation="unknown",outcome="rejected",path="/mutate/pods"} 1`,
		`evergate_review_duration_seconds_bucket{path="/mutate/pods",le="10"} 0`,
		`evergate_review_duration_seconds_bucket{path="/mutate/pods",le="30"} 2`,
		`evergate_reviews_rejected_total{reason="reviews_timed_out"} 1`,
		`evergate_reviews_in_flight 2`,
		`evergate_body_bytes_in_flight 4096`,
		`evergate_findings_total{check="hosts.allowed",existed="false",mode="enforce",rule="team-hosts"} 1`,
		`evergate_images_total{entry="hub",outcome="rewritten"} 1`,
		`evergate_policy_info{hash="0123456789ab"} 1`,
		`evergate_policy_entries{kind="mirrors"} 3`,
		`evergate_policy_entries{kind="services"} 0`,
		`evergate_policy_exception_expiry_timestamp_seconds{rule="legacy"} 1.80144e+09`,
		`evergate_policy_exception_expiry_timestamp_seconds{rule="team-hosts"} 1.80144e+09`,
		`evergate_policy_loads_total{result="loaded"} 2`,
		`evergate_policy_loads_total{result="failed"} 1`,
		`evergate_policy_last_load_successful 0`,
		`evergate_phase{phase="listening"} 0`,
		`evergate_phase{phase="ready"} 1`,
		`evergate_phase_duration_seconds{phase="listening"} 0.15`,
		`evergate_phase_open_connections{phase="listening"} 7`,
		`evergate_self_probes_total{result="ok"} 1`,
		`evergate_connections_evicted_total 1`,
		`evergate_spans_exported_total 0`,
		`evergate_spans_dropped_total{reason="queue_full"} 0`,
		`evergate_spans_dropped_total{reason="export_failed"} 0`,
		`evergate_spans_dropped_total{reason="stopping"} 0`,
		`evergate_certificate_not_after_timestamp_seconds{use="serving"} 1.8e+09`,
		`evergate_certificate_loads_total{result="failed",use="client-ca"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no line %s", want)
		}
	}
	if strings.Contains(text, "aaaaaaaaaaaa") || strings.Contains(text, `rule="former"`) {
		t.Error("a previous policy is still shown")
	}
	if t.Failed() {
		t.Log(text)
	}
}

// If a reload of the same policy reset the age, it would hide that nothing has changed for a year.
func TestPolicyIsNoYoungerForBeingLoadedAgain(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := telemetry.NewMetrics(reg)
	m.PolicyLoaded("0123456789ab", policy.Counts{}, nil)
	loaded := func() string {
		_, after, _ := strings.Cut(scrape(t, reg), "\nevergate_policy_loaded_timestamp_seconds ")
		line, _, _ := strings.Cut(after, "\n")
		return line
	}
	before := loaded()
	m.PolicyLoaded("0123456789ab", policy.Counts{}, nil)
	if after := loaded(); before == "" || after != before {
		t.Errorf("loaded at %q, and after loading it again at %q", before, after)
	}
}

func TestOperationsAreBounded(t *testing.T) {
	reg := prometheus.NewRegistry()
	e := endpointOf(telemetry.NewMetrics(reg), nil)
	for operation, want := range map[string]string{
		"CREATE": "CREATE", "UPDATE": "UPDATE", "DELETE": "DELETE", "CONNECT": "CONNECT",
		"": "unknown", "create": "other", "x\x00": "other",
	} {
		d := &admission.Decision{Head: review.Head{Attributes: object.Attributes{Operation: object.Operation(operation)}}}
		end(e.Begin(request(), time.Now(), time.Second), d)
		if line := `{operation="` + want + `",outcome="allowed",path="/mutate/pods"}`; !strings.Contains(scrape(t, reg),
			line) {
			t.Errorf("%q is not counted as %s", operation, want)
		}
	}
}

// The names follow Prometheus' conventions, which promtool check metrics also checks.
func TestNames(t *testing.T) {
	problems, err := promlint.New(strings.NewReader(scrape(t, used()))).Lint()
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestRegistryTellsOfTheProcess(t *testing.T) {
	text := scrape(t, telemetry.NewRegistry())
	for _, want := range []string{"go_goroutines ", "process_resident_memory_bytes ", "go_build_info{"} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("there is no %s", want)
		}
	}
}
