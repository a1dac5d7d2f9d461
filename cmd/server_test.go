package cmd

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/handlers"
	"github.com/evergate/evergate/handlers/selfprobe"
	"github.com/evergate/evergate/lifecycle"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

// stuckPolicies blocks before it returns the current policy.
type stuckPolicies struct{ release chan struct{} }

func (s stuckPolicies) Current() *policy.Policy {
	<-s.release
	return new(policy.Policy)
}

// A stuck review that the self-probe does not notice still makes liveness fail, on both ports.
func TestLiveFallsForAReviewThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{
			log: slog.New(slog.DiscardHandler), metrics: telemetry.NewMetrics(prometheus.NewRegistry()),
			process: &lifecycle.Process{},
		}
		config := s.handlers()
		stuck := stuckPolicies{make(chan struct{})}
		config.Policies = stuck
		defer close(stuck.release)
		serving, ops := handlers.New(config)
		check := func(status int, body string) {
			t.Helper()
			for _, h := range []http.Handler{serving, ops} {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/livez", nil))
				if w.Code != status || w.Body.String() != body {
					t.Errorf("/livez: %d %q, want %d %q", w.Code, w.Body.String(), status, body)
				}
			}
		}
		review := httptest.NewRequest(http.MethodPost, "/mutate/pods", strings.NewReader("{}"))
		review.Header.Set("Content-Type", "application/json")
		go serving.ServeHTTP(httptest.NewRecorder(), review)
		<-time.After(44 * time.Second)
		check(http.StatusOK, "ok\n")
		<-time.After(2 * time.Second)
		check(http.StatusServiceUnavailable, "stuck: reviews that have been decided for more than 45s: 1\n")
	})
}

// heldLog blocks its first line until the test releases it.
type heldLog struct {
	writing, release chan struct{}
	once             sync.Once
	mu               sync.Mutex
	lines            []string
}

func (l *heldLog) Write(line []byte) (int, error) {
	l.once.Do(func() {
		close(l.writing)
		<-l.release
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

// A signal during loading ends the process like after a drain: Run returns 0. Otherwise the signal would kill this
// test.
func TestStopWhileLoading(t *testing.T) {
	log := &heldLog{writing: make(chan struct{}), release: make(chan struct{})}
	go func() {
		<-log.writing // the policy is loaded first
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		close(log.release)
	}()
	args := []string{"serve", "--dev", "--dev-ca", filepath.Join(t.TempDir(), "ca.crt"), "--listen", "127.0.0.1:0",
		"--ops-listen", "127.0.0.1:0"}
	if code := Run(t.Context(), args, nil, nil, io.Discard, log); code != 0 {
		t.Errorf("exit code %d", code)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if !strings.Contains(log.lines[0], "policy") {
		t.Errorf("the first line of the log is %s", log.lines[0])
	}
}

// Probes of kubelet and reviews of the self-probe are answered before the process is ready.
func TestExempt(t *testing.T) {
	prober, err := selfprobe.New()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{prober: prober}
	for path, want := range map[string]bool{
		"/livez": true, "/readyz": true, prober.Prefix() + "/mutate/pods": true, "/mutate/pods": false, "/policy": false,
	} {
		if got := s.exempt(httptest.NewRequest(http.MethodPost, path, nil)); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}
