package handlers

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
)

// gate bounds how many reviews are decided at one time. Who finds it full
// waits in line, first come, first served, as long as its patience lasts; who finds the line full goes away at once.
// Nobody who goes while he waits is let in, so that no work is done for callers that no longer wait for it.
type gate struct {
	name    string // in metrics and sentences
	room    *semaphore.Weighted
	line    int64 // how many may wait
	waiting atomic.Int64
	decided atomic.Int64 // nanoseconds that were spent inside
	yielded atomic.Int64 // of those, how many before somebody last let others go first
	inside  prometheus.Gauge
	waits   prometheus.Observer // in seconds; 0 where there was room at once
}

// decidedAtOnce is how long reviews are decided before those who have arrived go first. To let them costs a review one to three
// microseconds: small ones, of which this has sixteen, shall not pay that each. Who arrives waits for as much longer, of the
// timeouts in seconds that callers have.
const decidedAtOnce = time.Millisecond

func newGate(name string, room int64, line int, inside prometheus.Gauge, waits prometheus.Observer) *gate {
	return &gate{name: name, room: semaphore.NewWeighted(room), line: int64(line), inside: inside, waits: waits}
}

// enter waits until there is room for n, at most until patience is over. ctx ends when the caller has gone, or when
// its time is up. An error is an *httpError; without one the caller must leave.
//
// To decide is nothing but computing. Go lets a goroutine that runs go on before those whose connection has something to read,
// so that with every core busy a request could lie unread for seconds, its caller's time running and its place in line not taken.
// So those who have arrived go first, and wait for no more decisions than there is room for here: see
// docs/decisions/0004-read-before-deciding.md.
func (g *gate) enter(ctx context.Context, patience time.Time, n int64) error {
	waited := !g.room.TryAcquire(n)
	if waited {
		if err := g.wait(ctx, patience, n); err != nil {
			return err
		}
	} else {
		g.waits.Observe(0)
	}
	if decided := g.decided.Load(); waited || decided-g.yielded.Load() >= int64(decidedAtOnce) {
		runtime.Gosched()
		g.yielded.Store(decided) // not before: until then whoever comes lets them go first too
	}
	// Not its patience: under load whoever is let in has nearly used that up, and would be turned away for the last few
	// milliseconds. What is left until the deadline is for this.
	if ctx.Err() != nil {
		g.room.Release(n)
		return turnedAway(ctx, g.name)
	}
	g.inside.Add(float64(n))
	return nil
}

// leave gives back what enter took, and tells how long it was used.
func (g *gate) leave(n int64, took time.Duration) {
	g.decided.Add(int64(took))
	g.inside.Sub(float64(n))
	g.room.Release(n)
}

func (g *gate) wait(ctx context.Context, patience time.Time, n int64) error {
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > g.line {
		return overloaded(g.name, "line_full")
	}
	waiting, cancel := context.WithDeadline(ctx, patience)
	defer cancel()
	begun := time.Now()
	err := g.room.Acquire(waiting, n)
	g.waits.Observe(time.Since(begun).Seconds())
	if err != nil {
		return turnedAway(ctx, g.name)
	}
	return nil
}

// What a process can run out of, in metrics and sentences.
const (
	bodyBytes     = "body_bytes"
	reviewsAtOnce = "reviews"
)

// turnedAway says why somebody who waited for one of them is not let in, though nobody refused it.
func turnedAway(ctx context.Context, what string) error {
	if cause, ok := errors.AsType[*httpError](context.Cause(ctx)); ok {
		return cause
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		// Nobody will read this, unless the server itself has ended the request.
		return &httpError{
			status: http.StatusServiceUnavailable, reason: "caller_gone", close: true,
			msg: "the caller has gone",
		}
	}
	return overloaded(what, "waited")
}

// overloaded is 429, and leaves the connection open: the handshake of a new one costs as much as ten small reviews,
// which is the last thing that an overloaded server needs.
func overloaded(what, why string) error {
	return &httpError{
		status: http.StatusTooManyRequests, reason: what + "_" + why,
		msg: "overloaded: no room for more " + what,
	}
}
