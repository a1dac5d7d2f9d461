package handlers

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

// elapse lets time go by in a bubble, and everything happen that is due then.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func checkOverdue(t *testing.T, o *Overdue, want string) {
	t.Helper()
	got := ""
	if err := o.Err(); err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("overdue: %q, want %q", got, want)
	}
}

const (
	overdueOne = "hung: reviews that have been decided for more than 45s: 1"
	overdueTwo = "hung: reviews that have been decided for more than 45s: 2"
)

func TestOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "")
		f.Overdue = new(Overdue)
		f.Limits.Reviews = 2
		judge := newFakeJudge()
		_, h := f.fake(judge.judge)
		ask := func() {
			body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5"}}`
			go h.ServeHTTP(httptest.NewRecorder(), post(t.Context(), t, "/fake?timeout=3s", body))
			synctest.Wait()
		}
		ask()
		elapse(10 * time.Second)
		ask()
		elapse(35*time.Second - 1)
		checkOverdue(t, f.Overdue, "")
		elapse(1)
		checkOverdue(t, f.Overdue, overdueOne)
		want := `level=ERROR msg="a review does not come back from being decided" path=/fake uid=705ab4f5 after=45s` + "\n"
		if got := f.log.String(); got != want {
			t.Errorf("log %q, want %q", got, want)
		}
		elapse(10 * time.Second)
		checkOverdue(t, f.Overdue, overdueTwo)

		judge.proceed <- struct{}{}
		synctest.Wait()
		checkOverdue(t, f.Overdue, overdueOne)
		judge.proceed <- struct{}{}
		synctest.Wait()
		checkOverdue(t, f.Overdue, "")
	})
}

// What watches over a review watches over the next one as well, and tells of that.
func TestWatchIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(Overdue)
		if w := o.watch([]byte("first"), func(body []byte) { t.Errorf("%s is overdue", body) }); !w.end() {
			t.Error("the first was not in time")
		}
		elapse(overdueAfter / 2)
		var told []string
		w := o.watch([]byte("second"), func(body []byte) { told = append(told, string(body)) })
		elapse(overdueAfter - 1)
		checkOverdue(t, o, "")
		elapse(1)
		checkOverdue(t, o, overdueOne)
		if !slices.Equal(told, []string{"second"}) {
			t.Errorf("told of %q", told)
		}
		if w.end() {
			t.Error("the second was in time")
		}
		checkOverdue(t, o, "")
	})
}

// Reviews that wait for their turn, each of which takes its time, for minutes: that is load.
func TestBusyIsNotOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "")
		f.Overdue = new(Overdue)
		f.Limits.Reviews = 1
		judge := newFakeJudge()
		server, h := f.fake(judge.judge)
		ask := func() {
			go h.ServeHTTP(httptest.NewRecorder(), post(t.Context(), t, "/fake?timeout=30s", "{}"))
			synctest.Wait()
		}
		ask()
		for range 10 {
			elapse(overdueAfter - patienceOfTheLongest)
			ask() // and finds the room taken
			elapse(patienceOfTheLongest - 1)
			if server.reviews.waiting.Load() != 1 {
				t.Fatal("nobody waits")
			}
			checkOverdue(t, f.Overdue, "")
			judge.proceed <- struct{}{} // the one who waited is next
			synctest.Wait()
		}
		judge.proceed <- struct{}{}
	})
}

// patienceOfTheLongest is for how long a review waits at most.
const patienceOfTheLongest = maxTimeout - retryAfter

// However a review comes back, nothing of it stays.
func TestOverdueEndsWithTheReview(t *testing.T) {
	for name, judge := range map[string]judge{
		"answer": func(*policy.Policy, []byte, *policy.Effort, *telemetry.ReviewSpan) (*verdict, error) {
			return &verdict{uid: "1"}, nil
		},
		"panic": panics,
		"refusal": func(*policy.Policy, []byte, *policy.Effort, *telemetry.ReviewSpan) (*verdict, error) {
			return nil, &httpError{status: http.StatusBadRequest}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, "")
				f.Overdue = new(Overdue)
				_, h := f.fake(judge)
				h.ServeHTTP(httptest.NewRecorder(), post(t.Context(), t, "/fake", "{}"))
				elapse(2 * overdueAfter)
				checkOverdue(t, f.Overdue, "")
			})
		})
	}
}
