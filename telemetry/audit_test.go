package telemetry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/evergate/evergate/telemetry"
)

// someAudit returns an audit in which each instrument has been used once.
func someAudit() *telemetry.Audit {
	a := telemetry.NewAudit()
	a.Objects("Pod", "denied", 3)
	a.Findings("team-a", "mirrored", "images.from", "enforce", 2)
	a.Images("team-a", "hub", "outside", 4)
	a.Ended(time.Unix(1_800_000_000, 0), "0123456789ab", 1)
	return a
}

const someAuditText = `# HELP evergate_audit_findings Findings of the last audit, once for each object.
# TYPE evergate_audit_findings gauge
evergate_audit_findings{check="images.from",mode="enforce",namespace="team-a",rule="mirrored"} 2
# HELP evergate_audit_images Pod images in the last audit, by the mirrors entry that covers them and by outcome.
# TYPE evergate_audit_images gauge
evergate_audit_images{entry="hub",namespace="team-a",outcome="outside"} 4
# HELP evergate_audit_last_run_timestamp_seconds When the last audit ended, in seconds since 1970.
# TYPE evergate_audit_last_run_timestamp_seconds gauge
evergate_audit_last_run_timestamp_seconds 1.8e+09
# HELP evergate_audit_objects Objects that the last audit evaluated, by kind and by decision.
# TYPE evergate_audit_objects gauge
evergate_audit_objects{decision="denied",kind="Pod"} 3
# HELP evergate_audit_policy_info 1 for the hash of the policy that the last audit used.
# TYPE evergate_audit_policy_info gauge
evergate_audit_policy_info{hash="0123456789ab"} 1
# HELP evergate_audit_unreadable_objects Objects and files that the last audit could not read or understand.
# TYPE evergate_audit_unreadable_objects gauge
evergate_audit_unreadable_objects 1
`

func TestAuditIsWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "evergate.prom")
	must(t, os.WriteFile(file, []byte("of yesterday"), 0o600))
	must(t, someAudit().WriteFile(file))
	text, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(someAuditText, string(text)); diff != "" {
		t.Error(diff)
	}
	beside, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(beside) != 1 {
		t.Errorf("left behind: %v, %v", beside, err)
	}
	if err := someAudit().WriteFile(filepath.Join(file, "x")); err == nil ||
		!strings.HasPrefix(err.Error(), "cannot write the counts: ") {
		t.Errorf("into no directory: %v", err)
	}
}

func TestAuditNames(t *testing.T) {
	problems, err := promlint.New(strings.NewReader(someAuditText)).Lint()
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// gateway simulates a Pushgateway.
type gateway struct {
	*httptest.Server
	requests []string // method, path, user and content type of each request
	body     string   // of the last request
}

func newGateway(t *testing.T, answer http.HandlerFunc) *gateway {
	t.Helper()
	g := &gateway{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		body, _ := io.ReadAll(r.Body)
		g.requests = append(g.requests, strings.Join([]string{r.Method, r.URL.Path, user + ":" + password,
			r.Header.Get("Content-Type")}, " "))
		g.body = string(body)
		answer(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

func TestAuditIsPushed(t *testing.T) {
	g := newGateway(t, func(http.ResponseWriter, *http.Request) {})
	host := strings.TrimPrefix(g.URL, "http://")
	for _, address := range []string{g.URL, host, "http://me:secret@" + host + "/behind/"} {
		g.body = ""
		must(t, someAudit().Push(t.Context(), address))
		if diff := cmp.Diff(someAuditText, g.body); diff != "" {
			t.Errorf("%s: %s", address, diff)
		}
	}
	const text = "text/plain; version=0.0.4; charset=utf-8"
	want := []string{ // PUT replaces the whole group, so old findings are removed
		"PUT /metrics/job/evergate-audit : " + text,
		"PUT /metrics/job/evergate-audit : " + text,
		"PUT /behind/metrics/job/evergate-audit me:secret " + text,
	}
	for i := range g.requests {
		g.requests[i], _, _ = strings.Cut(g.requests[i], "; escaping=")
	}
	if diff := cmp.Diff(want, g.requests); diff != "" {
		t.Error(diff)
	}
}

// A failed push is never a success, and no error contains the password.
func TestAuditIsNotPushed(t *testing.T) {
	full := newGateway(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no more space", http.StatusInsufficientStorage)
	})
	moved := newGateway(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
		}
	})
	gone := newGateway(t, nil)
	gone.Close()
	for address, want := range map[string]string{
		full.URL:              "no more space",
		moved.URL:             "301",
		gone.URL:              "connect",
		"ftp://gateway":       "is a URL such as",
		"http://:9091/%zz":    "is a URL such as",
		"/metrics/job/x":      "is a URL such as",
		"http://gate way:909": "is a URL such as",
	} {
		address = strings.Replace(address, "://", "://me:secret@", 1)
		err := someAudit().Push(t.Context(), address)
		switch {
		case err == nil:
			t.Errorf("%s: no error", address)
		case !strings.HasPrefix(err.Error(), "cannot push the counts: "), !strings.Contains(err.Error(),
			want), strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: %v", address, err)
		}
	}
}
