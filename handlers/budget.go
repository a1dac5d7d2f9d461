package handlers

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/telemetry"
)

// budget bounds the bytes of bodies that are held at one time. Where there is no room, the smallest body goes first, and
// a larger one that is still arriving makes room for it, largest first: it is cut off and may be sent again. An honest
// body is small, or arrives at once, or both; without this, four peers that send their large bodies slowly would
// hold all there is and keep everybody out.
//
// A body that has arrived is never cut off: it is about to be decided, and gives back its bytes by itself.
type budget struct {
	line   int // how many may wait
	inside prometheus.Gauge

	mu       sync.Mutex
	free     int64
	leaving  int64 // held by those that were cut off and are about to give it back
	arriving map[*share]struct{}
	waiting  []*claim // smallest first, and of the same size who came first
}

func newBudget(size int64, line int, inside prometheus.Gauge) *budget {
	return &budget{line: line, inside: inside, free: size, arriving: make(map[*share]struct{})}
}

// share is what one body holds of a budget.
type share struct {
	budget *budget
	cut    func(error) // ends the reading of the body; must not block
	n      int64
	isCut  bool
}

// claim is a share that waits until it may be of size bytes.
type claim struct {
	share   *share
	size    int64
	settled chan struct{} // closed when it was granted or refused
	granted bool
}

func (c *claim) missing() int64 { return c.size - c.share.n }

// share returns an empty share of a body that is arriving. The caller must release it.
func (b *budget) share(cut func(error)) *share {
	s := &share{budget: b, cut: cut}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arriving[s] = struct{}{}
	return s
}

// grow makes the share size bytes, waiting for what is missing at most until patience is over. ctx ends when the
// caller has gone, when its time is up, or when the share was cut off. An error is an *httpError.
func (s *share) grow(ctx context.Context, patience time.Time, size int64) error {
	if s.budget.take(s, size) && ctx.Err() == nil {
		return nil
	}
	c := s.budget.claim(s, size)
	waiting, cancel := context.WithDeadline(ctx, patience)
	defer cancel()
	select {
	case <-c.settled:
	default:
		done := telemetry.Waiting(ctx, "memory")
		select {
		case <-c.settled:
		case <-waiting.Done():
		}
		done()
	}
	s.budget.withdraw(c)
	switch {
	case ctx.Err() != nil:
		return turnedAway(ctx, bodyBytes)
	case c.granted:
		return nil
	case waiting.Err() != nil:
		return overloaded(bodyBytes, "waited")
	}
	return overloaded(bodyBytes, "line_full")
}

// arrived keeps the share from being cut off. Its error says that it has been already.
func (s *share) arrived() error {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	delete(s.budget.arriving, s)
	if s.isCut {
		return errCutOff()
	}
	return nil
}

// release gives the share back. It cannot be cut off any more.
func (s *share) release() {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.arriving, s)
	if s.isCut {
		b.leaving -= s.n
	}
	b.free += s.n
	b.inside.Sub(float64(s.n))
	s.n = 0
	b.admit()
}

// errCutOff is told to whoever was cut off. What is left of the body is not read, so the connection is of no more use.
func errCutOff() error {
	return &httpError{
		status: http.StatusTooManyRequests, reason: bodyBytes + "_cut_off", close: true,
		msg: "overloaded: this body had to make room for smaller ones before it had arrived",
	}
}

// take makes a share size bytes if there is room and nobody waits for it, and says whether it did.
func (b *budget) take(s *share, size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := size - s.n
	if len(b.waiting) > 0 || n > b.free || s.isCut {
		return false
	}
	b.free -= n
	b.inside.Add(float64(n))
	s.n = size
	return true
}

// claim puts a claim in its place in line, or settles it at once.
func (b *budget) claim(s *share, size int64) *claim {
	c := &claim{share: s, size: size, settled: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	at, _ := slices.BinarySearchFunc(b.waiting, size, func(w *claim, size int64) int {
		if w.size <= size {
			return -1
		}
		return 1
	})
	b.waiting = slices.Insert(b.waiting, at, c)
	b.admit()
	if !c.granted {
		b.makeRoom(at) // nobody before it was admitted either: they had waited in vain
	}
	if last := len(b.waiting) - 1; last >= b.line {
		close(b.waiting[last].settled) // refused
		b.waiting = b.waiting[:last]
	}
	return c
}

// withdraw takes a claim out of line if it is still there.
func (b *budget) withdraw(c *claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, c); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		b.admit() // the next may have been waiting behind this one alone
	}
}

// admit grants what there is room for, from the front of the line.
func (b *budget) admit() {
	for len(b.waiting) > 0 && b.waiting[0].missing() <= b.free {
		c := b.waiting[0]
		b.waiting = slices.Delete(b.waiting, 0, 1)
		n := c.missing()
		b.free -= n
		b.inside.Add(float64(n))
		if c.share.isCut {
			b.leaving += n
		}
		c.share.n, c.granted = c.size, true
		close(c.settled)
	}
}

// makeRoom cuts off larger bodies that are still arriving, until there will be room for the one at a place in line.
func (b *budget) makeRoom(place int) {
	size := b.waiting[place].size
	short := -b.free - b.leaving
	for _, c := range b.waiting[:place+1] {
		short += c.missing()
	}
	for short > 0 {
		var largest *share
		for s := range b.arriving {
			if s.n > size && (largest == nil || s.n > largest.n) {
				largest = s
			}
		}
		if largest == nil {
			return
		}
		delete(b.arriving, largest)
		largest.isCut = true
		largest.cut(errCutOff())
		b.leaving += largest.n
		short -= largest.n
	}
}
