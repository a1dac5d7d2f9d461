package cmd

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/handlers"
	"github.com/evergate/evergate/lifecycle"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

// stuckPolicies never get round to saying which policy decides.
type stuckPolicies struct{ release chan struct{} }

func (s stuckPolicies) Current() *policy.Policy {
	<-s.release
	return new(policy.Policy)
}

// A review that hangs where the self-probe does not come by brings liveness down all the same, on both ports.
func TestLiveFallsForAReviewThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{
			log: slog.New(slog.DiscardHandler), metrics: telemetry.NewMetrics(prometheus.NewRegistry()), process: &lifecycle.Process{},
		}
		config := s.handlers()
		stuck := stuckPolicies{make(chan struct{})}
		config.Policies = stuck
		defer close(stuck.release)
		serving, ops := handlers.Serving(config), handlers.Ops(config)
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
		check(http.StatusServiceUnavailable, "hung: reviews that have been decided for more than 45s: 1\n")
	})
}
