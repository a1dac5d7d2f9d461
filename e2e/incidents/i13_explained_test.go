package incidents

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/evergate/evergate/e2e/internal/process"
)

// I13: an object was not changed or denied as expected, and users could not find out why.

func TestI13(t *testing.T) {
	ns := team
	try(t, incident{
		id: "I13", what: "a Pod gets a warning and an Ingress is denied", guard: "sentence, warning, metric, log line and " +
			"review --explain name the rule",
		happen:  func(t *testing.T, l *lab, _ bool) outcome { return explained(t, l, ns) },
		lacking: "a namespace that has not opted in",
		without: func(*testing.T, *lab) { ns = plain },
	})
}

// warnings stores the warnings of the API server.
type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader is called for each warning.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.said, "\n")
}

func explained(t *testing.T, l *lab, ns string) outcome {
	var o outcome
	says := func(where, text, want string) {
		if !strings.Contains(text, want) {
			o.breaks("%s does not contain %s: %s", where, want, text)
			return
		}
		o.figure(where, "%s", lineWith(text, want))
	}
	heard := new(warnings)
	config := l.Config()
	config.WarningHandler = rest.WarningHandler(heard)
	api, err := kubernetes.NewForConfig(config)
	must(t, err)
	begun, before := time.Now(), l.findings(t)
	_, err = api.CoreV1().Pods(ns).Create(t.Context(), pod("", "quay.io/a/b:1"), dryRun)
	must(t, err)
	says("the warning of the Pod", heard.String(), "prefer-mirrors/images.from")
	_, err = api.NetworkingV1().Ingresses(ns).Create(t.Context(), ingress("explained", "a.example"), dryRun)
	says("the denial of the Ingress", answer(err), "team-hosts/hosts.allowed")
	if counted := l.findings(t) - before; counted < 2 {
		o.breaks("the metric evergate_findings_total counts %.0f findings of 2", counted)
	} else {
		o.figure("evergate_findings_total", "%.0f more", counted)
	}
	logs := l.Kubectl(t, "", "-n", system, "logs", "-l", "app.kubernetes.io/component=webhook", "--tail=-1",
		"--since-time="+begun.UTC().Format(time.RFC3339))
	says("the log", logs, "team-hosts/hosts.allowed")
	if ns == team { // it does not connect to a cluster
		says("evergate review --explain", l.explain(t), "team-hosts")
	}
	return o
}

// findings returns the number of findings of all replicas.
func (l *lab) findings(t *testing.T) (n float64) {
	t.Helper()
	for _, p := range l.awaitReplicas(t, 3) {
		set, err := l.count(t.Context(), p.Name)
		must(t, err)
		n += set.Sum("evergate_findings_total", nil)
	}
	return n
}

// explain runs the command line for the same Ingress.
func (l *lab) explain(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	binary, file := filepath.Join(dir, "evergate"), filepath.Join(dir, "policy.yaml")
	must(t, process.Build(t.Context(), l.root(), binary, nil))
	must(t, os.WriteFile(file, []byte(policy), 0o600))
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "review", "--policy", file, "-f", "-",
		"--explain", "-n", team)
	cmd.Stdin = strings.NewReader(string(typed("networking.k8s.io/v1", "Ingress", ingress("explained", "a.example"))))
	out, err := cmd.Output()
	var denied *exec.ExitError
	if err != nil && !errors.As(err, &denied) {
		t.Fatal(err)
	}
	return string(out)
}
