package lifecycle

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// This is a whole life, as the log shows it.
func TestPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		open := w.Open
		w.Open = func(ctx context.Context) (net.Listener, error) {
			<-time.After(300 * time.Millisecond) // the certificate is not available yet
			return open(ctx)
		}
		failures := []error{errors.New("x509: unknown authority"), errors.New("x509: unknown authority")}
		w.Probe = func(context.Context) (err error) {
			if len(failures) > 0 {
				err, failures = failures[0], failures[1:]
			}
			return err
		}
		w.OnStop = append(w.OnStop, func(context.Context) error { return errors.New("flush traces: no such host") })
		w.run(t)
		checkError(t, "Ready while starting", w.Ready(), "not ready: starting")
		checkError(t, "Live while starting", w.Live(), "")
		elapse(time.Second)
		checkError(t, "Ready while listening", w.Ready(), "not ready: listening")
		checkError(t, "Live while listening", w.Live(), "")
		elapse(time.Minute)
		checkError(t, "Ready while ready", w.Ready(), "")
		checkError(t, "Live while ready", w.Live(), "")
		checkCall(t, w.reviews.client(t), "/review", "200")
		w.signal()
		checkError(t, "Ready while draining", w.Ready(), "not ready: draining")
		checkError(t, "Live while draining", w.Live(), "")
		w.checkEnd(t, 0, "")
		checkError(t, "Ready at the end", w.Ready(), "not ready: stopped")
		checkError(t, "Live at the end", w.Live(), "")

		want := `level=INFO msg="phase changed" from=starting to=listening lasted=300ms open_connections=0 address=pipe
level=WARN msg="not ready yet: the self-probe failed" result=wrong error="x509: unknown authority"
level=INFO msg="phase changed" from=listening to=ready lasted=2s open_connections=0
level=INFO msg="phase changed" from=ready to=draining lasted=58.7s open_connections=1 why="signal: terminated" at_most=30s
level=INFO msg="phase changed" from=draining to=stopping lasted=30s open_connections=1
level=WARN msg="a stop hook failed" error="flush traces: no such host"
level=INFO msg="phase changed" from=stopping to=stopped lasted=0s open_connections=0
`
		if diff := cmp.Diff(want, w.records.text()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

func TestDrainLasts(t *testing.T) {
	const never = time.Hour
	for name, tt := range map[string]struct {
		delay, timeout time.Duration
		leaves         time.Duration // after the signal; 0: no client was connected
		want           time.Duration
	}{
		"no client":                   {10 * time.Second, 30 * time.Second, 0, 10 * time.Second},
		"the client leaves at once":   {10 * time.Second, 30 * time.Second, time.Second, 10 * time.Second},
		"the client leaves later":     {10 * time.Second, 30 * time.Second, 17 * time.Second, 17 * time.Second},
		"the client stays":            {10 * time.Second, 30 * time.Second, never, 30 * time.Second},
		"longer than clients stay":    {10 * time.Second, 95 * time.Second, 90 * time.Second, 90 * time.Second},
		"a timeout below the delay":   {10 * time.Second, 5 * time.Second, never, 10 * time.Second},
		"no delay, the client leaves": {0, 30 * time.Second, 3 * time.Second, 3 * time.Second},
		"no delay, no client":         {0, 30 * time.Second, 0, 0},
		"neither, but a client stays": {0, 0, never, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.DrainDelay, w.DrainTimeout = tt.delay, tt.timeout
				w.run(t)
				if tt.leaves > 0 {
					conn := w.reviews.mustDial(t)
					elapse(time.Minute)
					time.AfterFunc(tt.leaves, func() { _ = conn.Close() })
				}
				w.signal()
				w.checkEnd(t, 0, "")
				checkPhase(t, w, "draining", tt.want)
				checkPhase(t, w, "stopping", 0)
			})
		})
	}
}

func TestDrainSaysGoodbye(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.run(t)
		kept, busy := w.reviews.client(t), w.reviews.client(t)
		checkCall(t, kept, "/review", "200")
		slow := make(chan string)
		go func() { slow <- call(busy, "/slow") }()
		<-w.reached

		w.signal()
		close(w.slowly)
		if got := <-slow; got != "200 close" {
			t.Errorf("the review under way was answered %q, want %q", got, "200 close")
		}
		checkCall(t, kept, "/review", "200 close") // on its existing connection
		synctest.Wait()
		if n := w.conns.Count(); n != 0 {
			t.Errorf("%d connections are open after Connection: close, want 0", n)
		}
		checkCall(t, kept, "/review", "200 close") // on a new connection
		checkCall(t, kept, "/nowhere", "404 close 404 page not found")
		checkCall(t, kept, "/readyz", "503 close not ready: draining")
		elapse(DefaultDrainDelay - time.Nanosecond)
		checkCall(t, kept, "/review", "200 close") // until the end
		w.checkEnd(t, 0, "")
		checkPhase(t, w, "draining", DefaultDrainDelay)
	})
}

func TestKeepReady(t *testing.T) {
	for name, tt := range map[string]struct {
		keep bool
		err  error // of the self-probes after the first one
		want string
	}{
		"fail":             {false, nil, "503 not ready: draining"},
		"keep":             {true, nil, "200"},
		"keep that it was": {true, errors.New("x509"), "503 not ready: the self-probe failed 3 times in a row: x509"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.KeepReady = tt.keep
				var later error
				w.Probe = func(context.Context) (err error) {
					err, later = later, tt.err
					return err
				}
				w.run(t)
				elapse(probeThreshold * probeInterval)
				w.signal()
				checkCall(t, w.ops.client(t), "/readyz", tt.want)
				w.checkEnd(t, 0, "")
				checkError(t, "Ready at the end", w.Ready(), "not ready: stopped")
			})
		})
	}
}

// The ops port responds from the start until the last review has ended. Then telemetry is flushed, for at most five
// seconds.
func TestOpsPortIsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		opened := make(chan struct{})
		w.Open = func(context.Context) (net.Listener, error) { <-opened; return w.reviews, nil }
		var flushed time.Duration
		w.OnStop = append(w.OnStop, func(ctx context.Context) error {
			if _, err := w.ops.dial(ctx); err == nil {
				t.Error("the ops port is open while telemetry is flushed")
			}
			start := time.Now()
			<-ctx.Done()
			flushed = time.Since(start)
			return nil
		})
		w.run(t)
		ops := w.ops.client(t)
		checkCall(t, ops, "/readyz", "503 not ready: starting")
		checkCall(t, ops, "/livez", "200")
		close(opened)
		synctest.Wait()
		go call(w.reviews.client(t), "/slow")
		<-w.reached
		w.signal()
		elapse(DefaultDrainTimeout + time.Second)
		checkCall(t, ops, "/readyz", "503 not ready: stopping")
		checkCall(t, ops, "/livez", "200")
		close(w.slowly)
		w.checkEnd(t, 0, "")
		if flushed != stopTimeout {
			t.Errorf("telemetry had %s, want %s", flushed, stopTimeout)
		}
	})
}

// Clients of the ops port leave most of the time for flushing telemetry.
func TestOpsPortDoesNotHoldUpTelemetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var left time.Duration
		w.OnStop = append(w.OnStop, func(ctx context.Context) error {
			end, _ := ctx.Deadline()
			left = time.Until(end)
			return ctx.Err()
		})
		w.run(t)
		w.signal()
		elapse(DefaultDrainDelay - time.Nanosecond)
		silent := w.ops.mustDial(t)
		defer silent.Close()
		w.checkEnd(t, 0, "")
		if want := stopTimeout - opsStopTimeout; left != want {
			t.Errorf("telemetry had %s, want %s", left, want)
		}
	})
}

// A process that a failure stops ends with its exit code, even if a client is cut off.
func TestShutdownDeadline(t *testing.T) {
	for name, tt := range map[string]struct {
		stop     func(*world)
		code     int
		sentence string
	}{
		"a signal": {(*world).signal, exitCutOff, "shutdown: connections cut off after 15s: 1"},
		"the serving port fails": {func(w *world) { _ = w.reviews.Close() }, ExitFailed,
			"serve pipe: use of closed network connection"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.run(t)
				slow := make(chan string)
				go func() { slow <- call(w.reviews.client(t), "/stuck") }()
				<-w.reached
				tt.stop(w)
				if got, want := <-slow, `Post "http://evergate/stuck": EOF`; got != want {
					t.Errorf("the client that was cut off got %q, want %q", got, want)
				}
				w.checkEnd(t, tt.code, tt.sentence)
				close(w.slowly)
				checkPhase(t, w, "draining", DefaultDrainTimeout)
				checkPhase(t, w, "stopping", DefaultShutdownTimeout)
			})
		})
	}
}

// A response before the shutdown deadline is not lost.
func TestShutdownWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.run(t)
		w.signal()
		elapse(DefaultDrainDelay - time.Second)
		slow := make(chan string)
		go func() { slow <- call(w.reviews.client(t), "/slow") }()
		<-w.reached
		elapse(DefaultDrainTimeout - DefaultDrainDelay + DefaultShutdownTimeout)
		if _, err := w.reviews.dial(t.Context()); err == nil {
			t.Error("the listener is open while stopping")
		}
		close(w.slowly)
		if got := <-slow; got != "200 close" {
			t.Errorf("the review under way was answered %q, want %q", got, "200 close")
		}
		w.checkEnd(t, 0, "")
	})
}

func TestSecondSignal(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(*world, <-chan struct{})
		after   time.Duration // of the second signal, after the first
		want    string
	}{
		"starting, stuck": {func(w *world, released <-chan struct{}) {
			w.Open = func(context.Context) (net.Listener, error) { <-released; return nil, errors.New("released") }
		}, time.Second, "forced to exit while starting by a second signal: interrupt"},
		"draining": {func(*world, <-chan struct{}) {},
			time.Second, "forced to exit while draining by a second signal: interrupt"},
		"stopping": {func(*world, <-chan struct{}) {},
			DefaultDrainTimeout + time.Second, "forced to exit while stopping by a second signal: interrupt"},
		"flushing, stuck": {func(w *world, released <-chan struct{}) {
			close(w.slowly)
			w.OnStop = append(w.OnStop, func(context.Context) error { <-released; return nil })
		}, DefaultDrainTimeout + time.Second, "forced to exit while stopping by a second signal: interrupt"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, released := newWorld(), make(chan struct{})
				defer close(released)
				tt.prepare(w, released)
				w.run(t)
				if name != "starting, stuck" {
					go call(w.reviews.client(t), "/slow")
					<-w.reached
				}
				w.signal()
				elapse(tt.after)
				second := time.Now()
				w.signals <- os.Interrupt
				w.checkEnd(t, exitForced, tt.want)
				if took := time.Since(second); took != 0 {
					t.Errorf("Run returned %s after the second signal, want immediately", took)
				}
			})
		})
	}
}

func TestStoppedBeforeReady(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(*world)
		never   string // the phase that is not reached
		probes  int    // the number of self-probes that count
	}{
		"starting": {func(w *world) {
			w.Open = func(ctx context.Context) (net.Listener, error) { <-ctx.Done(); return nil, ctx.Err() }
		}, "listening", 0},
		"listening": {func(w *world) {
			w.Probe = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		}, "draining", 0},
		"between probes": {func(w *world) {
			w.Probe = func(context.Context) error { return errors.New("429") }
		}, "draining", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.records.observe = func(from, to string) {
					if from == tt.never || to == tt.never {
						t.Errorf("went from %s to %s", from, to)
					}
				}
				tt.prepare(w)
				w.run(t)
				elapse(500 * time.Millisecond)
				asked := time.Now()
				w.signal()
				w.checkEnd(t, 0, "")
				if took := time.Since(asked); took != 0 {
					t.Errorf("stopped after %s, want immediately", took)
				}
				if log := w.records.text(); strings.Contains(log, "canceled") || len(w.records.results()) != tt.probes {
					t.Errorf("a signal to stop is not a failure of the self-probe: %v\n%s", w.records.results(), log)
				}
			})
		})
	}
}

// A listener that cannot be closed does not cut off clients.
func TestListenerIsNotClosedCleanly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.Open = func(context.Context) (net.Listener, error) { return unclosable{w.reviews}, nil }
		w.run(t)
		w.signal()
		w.checkEnd(t, 0, "")
		if log := w.records.text(); !strings.Contains(log, `"the listener was not closed cleanly" error="bad descriptor"`) {
			t.Errorf("log:\n%s", log)
		}
	})
}

// unclosable is a listener whose Close fails.
type unclosable struct{ *pipeListener }

func (l unclosable) Close() error {
	_ = l.pipeListener.Close()
	return errors.New("bad descriptor")
}

func TestEndOfContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { w.result <- w.Run(ctx, w.signals) }()
		synctest.Wait()
		cancel()
		w.checkEnd(t, 0, "")
		checkPhase(t, w, "draining", DefaultDrainDelay)
	})
}

func TestFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare  func(*world)
		code     int
		sentence string
		drained  time.Duration
	}{
		"the socket cannot be bound": {func(w *world) {
			w.Open = func(context.Context) (net.Listener, error) {
				return nil, &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EADDRINUSE}
			}
		}, ExitFailed, "start: listen tcp: address already in use", 0},
		"a failure to start with a code of its own": {func(w *world) {
			w.Open = func(context.Context) (net.Listener, error) {
				return nil, &ExitError{2, errors.New("policy.yaml:3:1: unknown field")}
			}
		}, 2, "start: policy.yaml:3:1: unknown field", 0},
		"the serving port fails": {func(w *world) {
			time.AfterFunc(time.Hour, func() { _ = w.reviews.Close() })
		}, ExitFailed, "serve pipe: use of closed network connection", DefaultDrainDelay},
		"the ops port fails": {func(w *world) {
			time.AfterFunc(time.Hour, func() { _ = w.ops.Close() })
		}, ExitFailed, "serve pipe: use of closed network connection", DefaultDrainDelay},
		"the ops port fails at once": {func(w *world) {
			_ = w.ops.Close()
			w.Open = func(ctx context.Context) (net.Listener, error) { <-ctx.Done(); return nil, ctx.Err() }
		}, ExitFailed, "serve pipe: use of closed network connection", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				tt.prepare(w)
				w.run(t)
				w.checkEnd(t, tt.code, tt.sentence)
				checkPhase(t, w, "draining", tt.drained)
			})
		})
	}
}
