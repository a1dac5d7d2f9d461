package cmd

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evergate/evergate/cmd/internal/cli"
)

// runAudit audits testdata/cluster.json.
func runAudit(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, said bytes.Buffer
	args = append([]string{"review", "--as-existing", "--policy", "testdata/policy.yaml"}, args...)
	code = Run(t.Context(), args, environ, strings.NewReader("{"), &out, &said)
	return code, out.String(), said.String()
}

// The counts match the summary: three Pods and an Ingress would be denied, and four images are outside their mirrors.
func TestCountsOfAnAudit(t *testing.T) {
	var pushed string
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		pushed = string(body)
	}))
	defer gateway.Close()
	file := filepath.Join(t.TempDir(), "evergate.prom")
	code, stdout, stderr := runAudit(t, []string{"EVERGATE_METRICS_PUSH_URL=" + gateway.URL},
		"-f", "testdata/cluster.json", "--metrics-file", file)
	if code != 1 || stderr != "" || !strings.Contains(stdout, "4 would be denied now") {
		t.Errorf("exit code %d, %s%s", code, stderr, stdout)
	}
	written, err := os.ReadFile(file)
	if err != nil || string(written) != pushed {
		t.Errorf("%v: pushed\n%swritten\n%s", err, pushed, written)
	}
	for _, want := range []string{
		`evergate_audit_objects{decision="denied",kind="Ingress"} 1`,
		`evergate_audit_objects{decision="denied",kind="Pod"} 3`,
		`evergate_audit_objects{decision="warned",kind="Pod"} 0`,
		`evergate_audit_objects{decision="allowed",kind="Pod"} 2`,
		`evergate_audit_objects{decision="allowed",kind="Service"} 0`,
		`evergate_audit_findings{check="hosts.allowed",mode="enforce",namespace="team-a",rule="hosts"} 1`,
		// Two Pods of one owner count twice.
		`evergate_audit_findings{check="images.from",mode="enforce",namespace="team-b",rule="mirrored"} 2`,
		`evergate_audit_images{entry="hub",namespace="team-a",outcome="at_mirror"} 1`,
		`evergate_audit_images{entry="hub",namespace="team-b",outcome="outside"} 2`,
		`evergate_audit_images{entry="k8s",namespace="team-a",outcome="outside"} 1`,
		`evergate_audit_images{entry="quay",namespace="other",outcome="outside"} 1`,
		`evergate_audit_policy_info{hash="9fb3c7382387"} 1`,
		`evergate_audit_unreadable_objects 0`,
	} {
		if !strings.Contains(pushed, want+"\n") {
			t.Errorf("the line %s is missing in\n%s", want, pushed)
		}
	}
}

func TestUnreadableInputIsCounted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "evergate.prom")
	code, _, stderr := runAudit(t, nil, "-f", "-", "--metrics-file", file)
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "evergate_audit_unreadable_objects 1\n") {
		t.Errorf("%v\n%s", err, text)
	}
	if code != cli.Usage || !strings.Contains(stderr, "the JSON is truncated") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// The findings are printed even if the counts cannot be exported, and the failure of one export does not prevent the
// other.
func TestCountsThatCannotBeHandedOn(t *testing.T) {
	gateway := httptest.NewServer(http.NotFoundHandler())
	defer gateway.Close()
	file := filepath.Join(t.TempDir(), "evergate.prom")
	code, stdout, stderr := runAudit(t, nil, "-f", "testdata/cluster.json", "--metrics-push-url", gateway.URL,
		"--metrics-file", file)
	if code != cli.Usage || !strings.Contains(stdout, "4 would be denied now") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	if !strings.HasPrefix(stderr, "evergate: cannot push the counts: unexpected status code 404") {
		t.Error(stderr)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
