package handlers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/handlers/selfprobe"
)

func newProber(t testing.TB) *selfprobe.Prober {
	t.Helper()
	c, err := selfprobe.New()
	must(t, err)
	return c
}

func TestSelfProbe(t *testing.T) {
	f := newFixture(t, "")
	f.Limits.Reviews = 1
	f.SelfProbe = newProber(t)
	busy := newServer(f.Config)
	if _, err := busy.reviews.slots.Acquire(t.Context(), time.Now(), "", nil); err != nil {
		t.Fatal(err)
	}
	s := startTLS(t, busy.serving(f.Config, admission.Webhooks()))

	if err := f.SelfProbe.Check(t.Context(), s.Client(), s.URL); err != nil {
		t.Errorf("a server that is busy and healthy: %v", err)
	}
	equal(t, map[string]float64{}, f.counted(t, "evergate_reviews_total"), "the self-probe was counted")
	if log := f.log.String(); log != "" {
		t.Errorf("the self-probe was logged:\n%s", log)
	}
}

func TestSelfProbeOfAnotherProcess(t *testing.T) {
	f := newFixture(t, "")
	f.SelfProbe = newProber(t)
	s := startTLS(t, servingOf(f.Config))
	err := newProber(t).Check(t.Context(), s.Client(), s.URL) // the self-probe of another process
	if err == nil || !strings.HasPrefix(err.Error(), "self-probe of /mutate/pods: 404 Not Found: nothing is served at") {
		t.Errorf("the self-probe of another process: %v", err)
	}
}

// Every route for reviews authenticates its clients, also the routes with which a process calls itself.
func TestEveryReviewIsAuthenticated(t *testing.T) {
	f := newFixture(t, testPolicy)
	f.SelfProbe = newProber(t)
	f.Authenticate = func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	}
	serving, posts := servingOf(f.Config), 0
	type middleware = func(http.Handler) http.Handler
	err := chi.Walk(serving.(chi.Routes), func(method, route string, _ http.Handler, _ ...middleware) error {
		if method != http.MethodPost {
			return nil
		}
		posts++
		w := httptest.NewRecorder()
		path := strings.ReplaceAll(route, "/*/", "/")
		serving.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", route, w.Code)
		}
		return nil
	})
	if err != nil || posts < 2*len(admission.Webhooks()) {
		t.Errorf("%d routes, %v", posts, err)
	}
}
