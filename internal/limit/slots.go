// Package limit limits the work of a server: how many requests it processes at one time (Slots), and how many bytes of
// request bodies it holds (Memory). It also reuses the memory of these bodies (Buffers).
//
// A request waits for a slot and for memory until its own deadline. Then it fails, so the server can reject it while
// the client still listens. Work never starts for a request whose client has disconnected.
package limit

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var errQueueDeadline = errors.New("no room before the queue deadline")

// Slots is a concurrency limiter. It records when each slot was taken, so stuck work can be found. Use NewSlots to
// create it.
type Slots struct {
	free    chan *Slot
	all     []Slot
	waiting atomic.Int64
}

// NewSlots returns a limiter of n slots.
func NewSlots(n int) *Slots {
	s := &Slots{free: make(chan *Slot, n), all: make([]Slot, n)}
	for i := range s.all {
		s.all[i].free = s.free
		s.free <- &s.all[i]
	}
	return s
}

// Slot is a slot that Acquire has returned. The caller must release it.
type Slot struct {
	free chan *Slot

	mu    sync.Mutex
	since time.Time // the zero time while it is free
	path  string
	body  []byte
}

// Acquire waits for a slot, first come, first served. It returns an error if queueDeadline passes, and the cause of ctx
// if ctx is done. It ignores queueDeadline once it has a slot, because under load a request that gets its slot has
// almost reached it. path and body identify the request in Stuck. The body must not change before Release.
//
// Before Acquire returns, requests that have arrived are read. Work that only computes can keep all cores busy, and Go
// continues to run it while connections have unread data. docs/decisions/0004-read-before-deciding.md has measurements.
func (s *Slots) Acquire(ctx context.Context, queueDeadline time.Time, path string, body []byte) (*Slot, error) {
	var slot *Slot
	select {
	case slot = <-s.free:
	default:
		s.waiting.Add(1)
		defer s.waiting.Add(-1)
		queue, cancel := context.WithDeadlineCause(ctx, queueDeadline, errQueueDeadline)
		defer cancel()
		select {
		case slot = <-s.free:
		case <-queue.Done():
			return nil, context.Cause(queue)
		}
	}
	runtime.Gosched()
	if ctx.Err() != nil {
		s.free <- slot
		return nil, context.Cause(ctx)
	}
	slot.mu.Lock()
	defer slot.mu.Unlock()
	slot.since, slot.path, slot.body = time.Now(), path, body
	return slot, nil
}

// Waiting returns how many requests wait for a slot.
func (s *Slots) Waiting() int { return int(s.waiting.Load()) }

// Release returns the slot to the limiter.
func (s *Slot) Release() {
	s.mu.Lock()
	s.since, s.path, s.body = time.Time{}, "", nil
	s.mu.Unlock()
	s.free <- s
}

// Stuck is a request that has had a slot for too long.
type Stuck struct {
	Path  string
	Start []byte // the first bytes of its body
}

// Stuck returns the requests that have had a slot for longer than after, with at most start bytes of each body.
func (s *Slots) Stuck(after time.Duration, start int) (stuck []Stuck) {
	for i := range s.all {
		slot := &s.all[i]
		slot.mu.Lock()
		if !slot.since.IsZero() && time.Since(slot.since) >= after {
			body := slot.body[:min(len(slot.body), start)]
			stuck = append(stuck, Stuck{Path: slot.path, Start: append([]byte(nil), body...)})
		}
		slot.mu.Unlock()
	}
	return stuck
}
