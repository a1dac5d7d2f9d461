package handlers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// elapse lets time pass in a bubble, and lets everything happen that is due.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// checkLive checks the liveness response. An empty sentence means alive.
func checkLive(t *testing.T, h http.Handler, want string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/livez", nil))
	got := strings.TrimSuffix(w.Body.String(), "\n")
	if want == "" {
		want = "ok"
	}
	if got != want || (w.Code == http.StatusOK) != (want == "ok") {
		t.Errorf("live: %d %q, want %q", w.Code, got, want)
	}
}

const (
	oneIsStuck = "stuck: reviews that have been decided for more than 45s: 1"
	twoAre     = "stuck: reviews that have been decided for more than 45s: 2"
)

func TestStuckReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "")
		f.Limits.Reviews = 2
		decider := newFakeDecider()
		_, h := f.fake(decider.decide)
		ask := func() {
			body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5"}}`
			go h.ServeHTTP(httptest.NewRecorder(), post(t.Context(), t, "/fake?timeout=3s", body))
			synctest.Wait()
		}
		ask()
		elapse(10 * time.Second)
		ask()
		elapse(35*time.Second - 1)
		checkLive(t, h, "")
		elapse(1)
		checkLive(t, h, oneIsStuck)
		want := `level=ERROR msg="review is stuck" path=/fake uid=705ab4f5 after=45s` + "\n"
		if got := f.log.String(); got != want {
			t.Errorf("log %q, want %q", got, want)
		}
		elapse(10 * time.Second)
		checkLive(t, h, twoAre)

		decider.proceed <- struct{}{}
		synctest.Wait()
		checkLive(t, h, oneIsStuck)
		decider.proceed <- struct{}{}
		synctest.Wait()
		checkLive(t, h, "")
	})
}

// Reviews that queue for minutes because each takes some time are load, and not stuck.
func TestBusyIsNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "")
		f.Limits.Reviews = 1
		decider := newFakeDecider()
		server, h := f.fake(decider.decide)
		ask := func() {
			go h.ServeHTTP(httptest.NewRecorder(), post(t.Context(), t, "/fake?timeout=30s", "{}"))
			synctest.Wait()
		}
		ask()
		for range 10 {
			elapse(stuckAfter - longestQueue)
			ask() // and finds the slot taken
			elapse(longestQueue - 1)
			if server.reviews.slots.Waiting() != 1 {
				t.Fatal("no review waits")
			}
			checkLive(t, h, "")
			decider.proceed <- struct{}{} // the waiting review is next
			synctest.Wait()
		}
		decider.proceed <- struct{}{}
	})
}

// longestQueue is the longest time that a review waits.
const longestQueue = maxTimeout - retryAfter

// After a review has ended in any way, it is not stuck.
func TestNotStuckAfterItsEnd(t *testing.T) {
	for name, decide := range map[string]decideFunc{
		"answer": func(*policy.Policy, *policy.Effort) (*admission.Decision, error) {
			return &admission.Decision{}, nil
		},
		"panic": panics,
		"error": func(*policy.Policy, *policy.Effort) (*admission.Decision, error) {
			return nil, &httpError{status: http.StatusBadRequest}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, h := newFixture(t, "").fake(decide)
				h.ServeHTTP(httptest.NewRecorder(), post(t.Context(), t, "/fake", "{}"))
				elapse(2 * stuckAfter)
				checkLive(t, h, "")
			})
		})
	}
}
