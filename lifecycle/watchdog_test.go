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

// timeoutError is the error of net/http's client when its timeout has passed.
type timeoutError struct{}

func (timeoutError) Error() string { return "net/http: TLS handshake timeout" }
func (timeoutError) Timeout() bool { return true }

func TestWatchdog(t *testing.T) {
	var (
		late    = fmt.Errorf("POST /validate/pods: %w", context.DeadlineExceeded)
		expired = errors.New("tls: failed to verify certificate: x509: certificate has expired")
		uid     = errors.New("POST /mutate/pods: another uid")
	)
	const (
		dead3    = "hung: the self-probe got no response 3 times in a row, and no review was answered"
		dead4    = "hung: the self-probe got no response 4 times in a row, and no review was answered"
		hung3    = "not ready: the self-probe failed 3 times in a row: POST /validate/pods: context deadline exceeded"
		hung4    = "not ready: the self-probe failed 4 times in a row: POST /validate/pods: context deadline exceeded"
		expired3 = "not ready: the self-probe failed 3 times in a row: " +
			"tls: failed to verify certificate: x509: certificate has expired"
	)
	for name, tt := range map[string]struct {
		probes      []error // after the first one, which succeeded
		answering   bool    // other reviews are answered all the time
		results     string
		live, ready string
	}{
		"all is well":               {[]error{nil, nil, nil}, false, "ok ok ok", "", ""},
		"one slow probe":            {[]error{late}, false, "hung", "", ""},
		"two are not enough":        {[]error{late, late}, false, "hung hung", "", ""},
		"hung":                      {[]error{late, late, late}, false, "hung hung hung", dead3, hung3},
		"hung for longer":           {[]error{late, late, late, late}, false, "hung hung hung hung", dead4, hung4},
		"hung in the handshake":     {[]error{timeoutError{}, timeoutError{}}, false, "hung hung", "", ""},
		"hung, then well":           {[]error{late, late, late, nil}, false, "hung hung hung ok", "", ""},
		"not in a row":              {[]error{late, late, nil, late}, false, "hung hung ok hung", "", ""},
		"busy":                      {[]error{late, late, late}, true, "busy busy busy", "", ""},
		"a bad certificate":         {[]error{expired, expired, expired}, false, "wrong wrong wrong", "", expired3},
		"one wrong answer":          {[]error{uid}, false, "wrong", "", ""},
		"a certificate fixed":       {[]error{expired, expired, expired, nil}, false, "wrong wrong wrong ok", "", ""},
		"wrong, under load":         {[]error{expired, expired, expired}, true, "wrong wrong wrong", "", expired3},
		"wrong breaks a hang":       {[]error{late, late, expired, late}, false, "hung hung wrong hung", "", hung4},
		"both together are unready": {[]error{late, late, expired}, false, "hung hung wrong", "", expired3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
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
				if diff := cmp.Diff("ok "+tt.results, strings.Join(w.records.results(), " ")); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				w.signal()
				checkError(t, "Live while draining", w.Live(), "")
				w.checkEnd(t, 0, "")
			})
		})
	}
}

// A probe that ignores its context counts as a hang, and does not delay the watchdog or the drain.
func TestStuckProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, released := newWorld(), make(chan struct{})
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
		checkError(t, "Live", w.Live(), "hung: the self-probe got no response 3 times in a row, and no review was answered")
		elapse(probeInterval) // the next probe is under way
		w.signal()
		w.checkEnd(t, 0, "")
		checkPhase(t, w, "draining", DefaultDrainDelay)
	})
}

func TestWatchdogLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		answers := []error{nil, errors.New("another uid"), nil, nil}
		w.Probe = func(context.Context) (err error) {
			err, answers = answers[0], answers[1:]
			return err
		}
		w.run(t)
		elapse(35 * time.Second)
		_, got, _ := strings.Cut(w.records.text(), "to=ready lasted=0s open_connections=0\n")
		want := `level=WARN msg="the self-probe failed" result=wrong failed_in_a_row=1 error="another uid"
level=INFO msg="the self-probe succeeded again"
`
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
