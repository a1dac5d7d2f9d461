package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// timeoutError is what net/http's client returns when its own time is up.
type timeoutError struct{}

func (timeoutError) Error() string { return "net/http: TLS handshake timeout" }
func (timeoutError) Timeout() bool { return true }

func TestWatchdog(t *testing.T) {
	var (
		noReview = fmt.Errorf("POST /validate/pods: %w", context.DeadlineExceeded)
		load     = fmt.Errorf("POST /validate/pods: 429: %w", ErrBusy)
		expired  = errors.New("tls: failed to verify certificate: x509: certificate has expired")
		uid      = errors.New("POST /mutate/pods: another uid")
	)
	const (
		notLive = "hung: the self-probe got no answer %d times in a row, nor did any review"
		isHung  = "not ready: the self-probe failed %d times in a row: POST /validate/pods: context deadline exceeded"
		isWrong = "not ready: the self-probe failed %d times in a row: tls: failed to verify certificate: " +
			"x509: certificate has expired"
	)
	for name, tt := range map[string]struct {
		probes      []error // after the first, which succeeded
		answering   bool    // reviews are answered all the while
		verdicts    string
		live, ready string
	}{
		"all is well":               {[]error{nil, nil, nil}, false, "ok ok ok", "", ""},
		"one slow probe":            {[]error{noReview}, false, "hung", "", ""},
		"two are not enough":        {[]error{noReview, noReview}, false, "hung hung", "", ""},
		"hung":                      {[]error{noReview, noReview, noReview}, false, "hung hung hung", fmt.Sprintf(notLive, 3), fmt.Sprintf(isHung, 3)},
		"hung for longer":           {[]error{noReview, noReview, noReview, noReview}, false, "hung hung hung hung", fmt.Sprintf(notLive, 4), fmt.Sprintf(isHung, 4)},
		"hung in the handshake":     {[]error{timeoutError{}, timeoutError{}}, false, "hung hung", "", ""},
		"hung, then well":           {[]error{noReview, noReview, noReview, nil}, false, "hung hung hung ok", "", ""},
		"not in a row":              {[]error{noReview, noReview, nil, noReview}, false, "hung hung ok hung", "", ""},
		"busy":                      {[]error{load, load, load, load}, false, "busy busy busy busy", "", ""},
		"busy, not in time":         {[]error{noReview, noReview, noReview}, true, "busy busy busy", "", ""},
		"a bad certificate":         {[]error{expired, expired, expired}, false, "wrong wrong wrong", "", fmt.Sprintf(isWrong, 3)},
		"one wrong answer":          {[]error{uid}, false, "wrong", "", ""},
		"a certificate mended":      {[]error{expired, expired, expired, nil}, false, "wrong wrong wrong ok", "", ""},
		"wrong, under load":         {[]error{expired, expired, expired}, true, "wrong wrong wrong", "", fmt.Sprintf(isWrong, 3)},
		"wrong breaks a hang":       {[]error{noReview, noReview, expired, noReview}, false, "hung hung wrong hung", "", fmt.Sprintf(isHung, 4)},
		"both together are unready": {[]error{noReview, noReview, expired}, false, "hung hung wrong", "", fmt.Sprintf(isWrong, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				answers, done := append([]error{nil}, tt.probes...), make(chan struct{})
				w.Probe = func(context.Context) (err error) {
					if tt.answering && w.phase() == ready {
						checkCall(t, w.reviews.client(t), "/review", "200")
					}
					err, answers = answers[0], answers[1:]
					if len(answers) == 0 {
						close(done)
					}
					return err
				}
				w.run(t)
				<-done
				synctest.Wait()
				checkError(t, "Live", w.Live(), tt.live)
				checkError(t, "Ready", w.Ready(), tt.ready)
				if diff := cmp.Diff("ok "+tt.verdicts, strings.Join(w.records.verdicts(), " ")); diff != "" {
					t.Errorf("verdicts (-want +got):\n%s", diff)
				}
				w.signal()
				checkError(t, "Live while draining", w.Live(), "")
				w.checkEnd(t, 0, "")
			})
		})
	}
}

// A probe that ignores its context is a hang, and holds up neither the watchdog nor the drain.
func TestStuckProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, released := newWorld(t), make(chan struct{})
		defer close(released)
		w.Probe = func(context.Context) error {
			if w.phase() == ready {
				<-released
			}
			return nil
		}
		w.run(t)
		elapse(probeThreshold*(probeInterval+probeTimeout) - time.Nanosecond)
		checkError(t, "Live", w.Live(), "")
		elapse(time.Nanosecond)
		checkError(t, "Live", w.Live(), "hung: the self-probe got no answer 3 times in a row, nor did any review")
		elapse(probeInterval) // the next one is under way
		w.signal()
		w.checkEnd(t, 0, "")
		checkPhase(t, w, "draining", DefaultDrainDelay)
	})
}

func TestWatchdogLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		answers := []error{nil, errors.New("another uid"), nil, nil}
		w.Probe = func(context.Context) (err error) {
			err, answers = answers[0], answers[1:]
			return err
		}
		w.run(t)
		elapse(35 * time.Second)
		_, got, _ := strings.Cut(w.records.text(), "to=ready lasted=0s open_connections=0\n")
		want := `level=WARN msg="the self-probe failed" verdict=wrong failed_in_a_row=1 error="another uid"
level=INFO msg="the self-probe succeeded again"
`
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
