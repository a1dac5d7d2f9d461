package handlers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evergate/evergate/internal/limit"
)

// The cost of reviews for the single core of an overloaded process, as measured with costly reviews (BenchmarkGoodput
// in e2e/calls), and the behavior of kube-apiserver's client.
const (
	decisionCost  = 2500 * time.Microsecond
	handshakeCost = 400 * time.Microsecond
	exchangeCost  = 100 * time.Microsecond // reading a review and writing any response
	idleConns     = 25                     // the number that the client keeps
)

// overworked is a process with one core behind the real limiter, and the calls that share a client. Time is fake, so
// the results are the same on every machine.
type overworked struct {
	slots   *limit.Slots
	core    chan struct{}
	timeout time.Duration
	times   func() deadlines

	idle     chan struct{} // connections that the client keeps
	used     atomic.Int64  // nanoseconds of the core
	answered atomic.Int64  // successful calls
}

// goodput returns the number of successful calls per second of processor time, with n concurrent calls.
func goodput(t *testing.T, n int, timeout time.Duration, times func() deadlines) (perSecond float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &overworked{
			slots: limit.NewSlots(2), core: make(chan struct{}, 1), idle: make(chan struct{}, idleConns),
			timeout: timeout, times: times,
		}
		ctx, stop := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for i := range n {
			calls.Go(func() {
				<-time.After(timeout * time.Duration(i) / time.Duration(n)) // they do not all arrive at the same moment
				for ctx.Err() == nil {
					w.call()
				}
			})
		}
		<-time.After(4 * timeout)
		answered, used := w.answered.Load(), w.used.Load()
		<-time.After(5 * timeout)
		perSecond = float64(w.answered.Load()-answered) / time.Duration(w.used.Load()-used).Seconds()
		stop()
		calls.Wait()
	})
	return perSecond
}

// call makes one call like the API server's client. After 429, it pauses and tries again within the same deadline, with
// the same ?timeout=. A call that runs out of time closes its connection.
func (w *overworked) call() {
	ctx, cancel := context.WithTimeout(context.Background(), w.timeout)
	defer cancel()
	for {
		select {
		case <-w.idle:
		default:
			w.work(handshakeCost)
		}
		if ctx.Err() != nil {
			return
		}
		err := w.review(ctx)
		if ctx.Err() != nil {
			return
		}
		select {
		case w.idle <- struct{}{}:
		default:
		}
		if err == nil {
			w.answered.Add(1)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryAfter):
		}
	}
}

func (w *overworked) review(client context.Context) error {
	w.work(exchangeCost)
	t := w.times()
	ctx, cancel := context.WithDeadline(client, t.answer)
	defer cancel()
	slot, err := w.slots.Acquire(ctx, t.queue, "", nil)
	if err != nil {
		return err
	}
	defer slot.Release()
	w.work(decisionCost)
	return nil
}

// work waits for the core and uses it.
func (w *overworked) work(cost time.Duration) {
	w.core <- struct{}{}
	<-time.After(cost)
	w.used.Add(int64(cost))
	<-w.core
}

// With four times the load that can be served, as many calls succeed as with the load that can be served, except for
// the cost of rejecting the rest. This cost is a twentieth, and varies by as much with the order of goroutines. The
// control run shows that the model detects an early queue deadline: if reviews wait for only a third of their time, a
// quarter of the calls are lost.
func TestGoodputHolds(t *testing.T) {
	const least, seen = 0.9, 0.8
	for _, timeout := range []time.Duration{2 * time.Second, 3 * time.Second} {
		served := int(timeout / 3 / decisionCost) // this number of calls waits for a third of its time
		r := httptest.NewRequest(http.MethodPost, "/fake?timeout="+timeout.String(), nil)
		now := func() deadlines { return deadlinesOf(r, time.Now(), false) }
		impatient := func() deadlines {
			t := now()
			t.queue = time.Now().Add(timeout / 3)
			return t
		}
		once := goodput(t, served, timeout, now)
		if got := goodput(t, 4*served, timeout, now); got < least*once {
			t.Errorf("timeout %v: goodput falls from %.0f to %.0f", timeout, once, got)
		}
		if got := goodput(t, 4*served, timeout, impatient); got > seen*once {
			t.Errorf("timeout %v: with an early queue deadline goodput falls only from %.0f to %.0f", timeout, once, got)
		}
	}
}
