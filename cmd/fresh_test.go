package cmd

import (
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/admission"
)

// rate() and increase() do not see the event that creates a series. If the first event matters, the series therefore
// exists before it, with the value 0.
func TestCountersBeginAtZero(t *testing.T) {
	s := startServe(t, nil, "--dev", "--dev-ca", filepath.Join(t.TempDir(), "ca.crt"))
	ops := "http://" + s.await(t, s.stderr, `"msg":"ops port bound","address":"([^"]+)"`)
	s.await(t, s.stderr, `"to":"ready"`)
	status, text := call(t, http.DefaultClient, ops+"/metrics", nil)
	if status != http.StatusOK {
		t.Fatalf("/metrics: %d %s", status, text)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^(evergate_\w+_total\S*) 0$`).FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	want := []string{
		// These events have already happened: the self-probe, the policy and the certificate of --dev.
		`evergate_certificate_loads_total{result="failed",use="client-ca"}`,
		`evergate_certificate_loads_total{result="failed",use="serving"}`,
		`evergate_certificate_loads_total{result="loaded",use="client-ca"}`,
		`evergate_connections_evicted_total`,
		`evergate_log_lines_dropped_total{level="error"}`,
		`evergate_log_lines_dropped_total{level="info"}`,
		`evergate_log_lines_dropped_total{level="warn"}`,
		`evergate_policy_loads_total{result="failed"}`,
		`evergate_reviews_rejected_total{reason="body_bytes_evicted"}`,
		`evergate_reviews_rejected_total{reason="body_bytes_timed_out"}`,
		`evergate_reviews_rejected_total{reason="client_gone"}`,
		`evergate_reviews_rejected_total{reason="policy_reviews_timed_out"}`,
		`evergate_reviews_rejected_total{reason="reviews_timed_out"}`,
		`evergate_self_probes_total{result="busy"}`,
		`evergate_self_probes_total{result="hung"}`,
		`evergate_self_probes_total{result="wrong"}`,
		`evergate_spans_exported_total`,
	}
	var paths []string
	for _, w := range admission.Webhooks() {
		paths = append(paths, w.Path)
		if sets := w.SetPath("{set}"); sets != "" {
			paths = append(paths, sets)
		}
	}
	for _, path := range paths {
		for _, event := range []string{
			`operation="CREATE",outcome="denied"`, `operation="UPDATE",outcome="denied"`,
			`operation="CREATE",outcome="unevaluated"`, `operation="UPDATE",outcome="unevaluated"`,
			`operation="unknown",outcome="invalid"`, `operation="unknown",outcome="panicked"`,
			`operation="unknown",outcome="rejected"`, `operation="unknown",outcome="unevaluated"`,
		} {
			want = append(want, `evergate_reviews_total{`+event+`,path="`+path+`"}`)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series that are 0 (-want +got):\n%s", diff)
	}
	s.stop()
}
