package handlers

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func testGate(room int64, line int) *gate {
	return measuredGate(room, line, func(float64) {})
}

func measuredGate(room int64, line int, waits prometheus.ObserverFunc) *gate {
	return newGate("reviews", room, line, prometheus.NewGauge(prometheus.GaugeOpts{}), waits)
}

// patience is how long the tests' reviews wait, in the fake time of a synctest bubble.
const patience = time.Second

func enter(ctx context.Context, g *gate, n int64) error {
	return g.enter(ctx, time.Now().Add(patience), n)
}

func mustEnter(t *testing.T, g *gate, n int64) {
	t.Helper()
	if err := enter(t.Context(), g, n); err != nil {
		t.Fatal(err)
	}
}

func TestGateIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGate(2, 10)
		mustEnter(t, g, 2)
		entered := make(chan int, 3)
		for i, n := range []int64{2, 1, 1} { // the one that needs most room came first, and is not overtaken
			go func() {
				if err := enter(t.Context(), g, n); err != nil {
					t.Error(err)
				}
				entered <- i
			}()
			synctest.Wait()
		}
		g.leave(1, 0)
		synctest.Wait()
		if len(entered) != 0 {
			t.Fatalf("with room for one, number %d was let in before the one that needs two", <-entered)
		}
		g.leave(1, 0)
		for want := range 3 {
			synctest.Wait()
			if got := <-entered; got != want {
				t.Errorf("number %d was let in, want %d", got, want)
			}
			if want < 2 {
				g.leave(1, 0) // half of the first, then the rest
			}
		}
		g.leave(2, 0)
		mustEnter(t, g, 2) // everything was given back
	})
}

func TestGateTurnsAway(t *testing.T) {
	tests := []struct {
		name   string
		given  func(t *testing.T, g *gate) (context.Context, context.CancelFunc)
		after  time.Duration // that somebody is turned away
		status int
		reason string
		msg    string
	}{
		{
			name: "patience is over",
			given: func(t *testing.T, _ *gate) (context.Context, context.CancelFunc) {
				return context.WithCancel(t.Context())
			},
			after: patience, status: 429, reason: "reviews_waited", msg: "overloaded: no room for more reviews",
		},
		{
			name: "time is up before patience is",
			given: func(t *testing.T, _ *gate) (context.Context, context.CancelFunc) {
				return context.WithTimeout(t.Context(), patience/2)
			},
			after: patience / 2, status: 429, reason: "reviews_waited", msg: "overloaded: no room for more reviews",
		},
		{
			name: "the line is full",
			given: func(t *testing.T, g *gate) (context.Context, context.CancelFunc) {
				go func() { _ = g.enter(t.Context(), time.Now().Add(time.Hour), 1) }()
				synctest.Wait()
				return context.WithCancel(t.Context())
			},
			after: 0, status: 429, reason: "reviews_line_full", msg: "overloaded: no room for more reviews",
		},
		{
			name: "the caller goes while it waits",
			given: func(t *testing.T, _ *gate) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(patience/4, cancel)
				return ctx, cancel
			},
			after: patience / 4, status: 503, reason: "caller_gone", msg: "the caller has gone",
		},
		{
			name: "the caller has gone and there is room",
			given: func(t *testing.T, g *gate) (context.Context, context.CancelFunc) {
				g.leave(1, 0)
				t.Cleanup(func() { mustNotBlock(t, g) })
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				return ctx, cancel
			},
			after: 0, status: 503, reason: "caller_gone", msg: "the caller has gone",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := testGate(1, 1)
				mustEnter(t, g, 1)
				ctx, cancel := tt.given(t, g)
				defer cancel()
				start := time.Now()
				err := enter(ctx, g, 1)
				if err == nil {
					t.Fatal("let in")
				}
				e := asHTTPError(err)
				if e.status != tt.status || e.reason != tt.reason || e.msg != tt.msg {
					t.Errorf("turned away with %d %s %q, want %d %s %q", e.status, e.reason, e.msg, tt.status, tt.reason, tt.msg)
				}
				if took := time.Since(start); took != tt.after {
					t.Errorf("turned away after %v, want %v", took, tt.after)
				}
			})
		})
	}
}

// What is decided while somebody lets others go first is not forgotten when he comes back.
func TestGateCountsWhatIsDecidedMeanwhile(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	g := testGate(2, 1)
	mustEnter(t, g, 1)
	g.decided.Store(int64(decidedAtOnce))
	left := make(chan struct{})
	go func() {
		g.leave(1, 5*decidedAtOnce)
		close(left)
	}()
	mustEnter(t, g, 1)
	<-left
	if got := time.Duration(g.decided.Load() - g.yielded.Load()); got != 5*decidedAtOnce {
		t.Errorf("%v are counted, want %v", got, 5*decidedAtOnce)
	}
}

// mustNotBlock says that nobody is inside g.
func mustNotBlock(t *testing.T, g *gate) {
	t.Helper()
	if !g.room.TryAcquire(1) {
		t.Error("one that was turned away has kept its room")
	}
}

func TestGateForgetsThoseWhoWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGate(1, 2)
		mustEnter(t, g, 1)
		for range 3 { // each round fills the line, and leaves it by losing patience
			for range 2 {
				go func() { _ = enter(t.Context(), g, 1) }()
			}
			synctest.Wait()
			if n := g.waiting.Load(); n != 2 {
				t.Fatalf("%d wait, want 2", n)
			}
			time.Sleep(patience) // in fake time
			synctest.Wait()
		}
		if n := g.waiting.Load(); n != 0 {
			t.Errorf("%d wait after all have lost patience", n)
		}
		g.leave(1, 0)
		mustEnter(t, g, 1)
	})
}

// Every review that may wait is measured once: also the one that finds a slot at once, and the one that gets none.
func TestGateMeasuresWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []float64
		g := measuredGate(1, 1, func(seconds float64) { waits = append(waits, seconds) })
		mustEnter(t, g, 1)
		time.AfterFunc(300*time.Millisecond, func() { g.leave(1, 0) })
		mustEnter(t, g, 1)
		if err := enter(t.Context(), g, 1); err == nil {
			t.Fatal("let in")
		}
		go func() { _ = enter(t.Context(), g, 1) }()
		synctest.Wait()
		if err := enter(t.Context(), g, 1); asHTTPError(err).reason != "reviews_line_full" { // it did not wait
			t.Fatal(err)
		}
		g.leave(1, 0)
		synctest.Wait()
		if want := []float64{0, 0.3, patience.Seconds(), 0}; !slices.Equal(waits, want) {
			t.Errorf("waits of %v s are measured, want %v", waits, want)
		}
	})
}

func TestLimitsHaveDefaults(t *testing.T) {
	if l := (Limits{}).withDefaults(); l.Reviews < 2 || l.BodyBytes != 64<<20 || l.Line != 2048 {
		t.Errorf("defaults: %+v", l)
	}
	if l := (Limits{Reviews: 1, BodyBytes: 1, Line: 1}).withDefaults(); l != (Limits{Reviews: 1, BodyBytes: maxReviewBytes, Line: 1}) {
		t.Errorf("with too little for the largest review: %+v", l)
	}
}
