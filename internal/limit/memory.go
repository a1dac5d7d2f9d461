package limit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrEvicted is returned for a body that lost its reservation to a smaller body before it had arrived.
var ErrEvicted = errors.New("evicted for a smaller body")

// Memory limits the bytes of bodies that are held at one time. If there is no room, the smallest waiting body goes
// first. Larger bodies that are still arriving are evicted for it, the largest first. A legitimate body is small, or
// arrives quickly, or both. Without eviction, four clients that send large bodies slowly would hold all memory and
// starve everyone else.
//
// A body that has arrived is never evicted, because it is decided next and then releases its bytes. Use NewMemory to
// create a Memory.
type Memory struct {
	gauge Gauge

	mu       sync.Mutex
	free     int64
	leaving  int64 // held by evicted reservations that are about to be released
	arriving map[*Reservation]struct{}
	queue    []*growth // smallest first, and bodies of the same size in the order of arrival
}

// Gauge is a metric of how many bytes are reserved. Add takes a difference.
type Gauge interface{ Add(float64) }

// NewMemory returns a limiter of size bytes.
func NewMemory(size int64, gauge Gauge) *Memory {
	return &Memory{gauge: gauge, free: size, arriving: make(map[*Reservation]struct{})}
}

// Reservation is the memory of one body. The caller must release it.
type Reservation struct {
	memory  *Memory
	evict   func() // ends the reading of the body; must not block
	n       int64
	evicted bool
	waiting *growth // nil if it does not wait to grow
}

// growth is a reservation that waits to grow to size bytes.
type growth struct {
	*Reservation
	size    int64
	settled chan struct{} // closed when it is granted or evicted
	granted bool
}

func (g *growth) missing() int64 { return g.size - g.n }

// Reserve returns an empty reservation for a body that is arriving. If it is evicted, Memory calls evict, which must
// end the reading of the body and must not block.
func (m *Memory) Reserve(evict func()) *Reservation {
	r := &Reservation{memory: m, evict: evict}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arriving[r] = struct{}{}
	return r
}

// Grow waits until the reservation may have size bytes. It returns an error if queueDeadline passes, ErrEvicted if the
// reservation is evicted, and the cause of ctx if ctx is done. Before waiting, Grow calls waits, and after waiting, the
// function that waits returned.
func (r *Reservation) Grow(ctx context.Context, queueDeadline time.Time, size int64, waits func() func()) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.memory.grow(r, size) {
		return nil
	}
	g := r.memory.enqueue(r, size)
	defer r.memory.dequeue(g)
	queue, cancel := context.WithDeadlineCause(ctx, queueDeadline, errQueueDeadline)
	defer cancel()
	defer waits()()
	select {
	case <-g.settled:
	case <-queue.Done():
	}
	return r.memory.outcome(queue, g)
}

// outcome returns the result of a wait.
func (m *Memory) outcome(queue context.Context, g *growth) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case g.evicted:
		return ErrEvicted
	case g.granted:
		return nil
	default:
		return context.Cause(queue)
	}
}

// Arrived marks the body as complete, after which it cannot be evicted. It returns ErrEvicted if it was evicted before.
func (r *Reservation) Arrived() error {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	delete(r.memory.arriving, r)
	if r.evicted {
		return ErrEvicted
	}
	return nil
}

// Release returns the bytes to the limiter.
func (r *Reservation) Release() {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.arriving, r)
	if r.evicted {
		m.leaving -= r.n
	}
	m.free += r.n
	m.gauge.Add(-float64(r.n))
	r.n = 0
	m.grant()
}

// grow gives a reservation size bytes if there is room and no other reservation waits. It reports whether it did.
func (m *Memory) grow(r *Reservation, size int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) > 0 || size-r.n > m.free || r.evicted {
		return false
	}
	m.give(r, size)
	return true
}

// enqueue adds a reservation to the queue until it can have size bytes.
func (m *Memory) enqueue(r *Reservation, size int64) *growth {
	g := &growth{Reservation: r, size: size, settled: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.evicted {
		close(g.settled)
		return g
	}
	at, _ := slices.BinarySearchFunc(m.queue, size, func(other *growth, size int64) int {
		if other.size <= size {
			return -1
		}
		return 1
	})
	m.queue = slices.Insert(m.queue, at, g)
	r.waiting = g
	if m.grant(); !g.granted {
		m.makeRoom(at) // no reservation behind it was granted either, because those before it still wait
	}
	return g
}

// dequeue removes g from the queue if it still waits.
func (m *Memory) dequeue(g *growth) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g.waiting = nil
	if i := slices.Index(m.queue, g); i >= 0 {
		m.queue = slices.Delete(m.queue, i, i+1)
		m.grant() // the next reservation may have waited only for this one
	}
}

// grant gives memory to the reservations at the front of the queue while there is room.
func (m *Memory) grant() {
	for len(m.queue) > 0 && m.queue[0].missing() <= m.free {
		g := m.queue[0]
		m.queue = slices.Delete(m.queue, 0, 1)
		m.give(g.Reservation, g.size)
		g.granted, g.waiting = true, nil
		close(g.settled)
	}
}

func (m *Memory) give(r *Reservation, size int64) {
	n := size - r.n
	m.free -= n
	m.gauge.Add(float64(n))
	r.n = size
}

// makeRoom evicts larger bodies that are still arriving until there is room for the reservation at a place in the
// queue.
func (m *Memory) makeRoom(place int) {
	size := m.queue[place].size
	short := -m.free - m.leaving
	for _, g := range m.queue[:place+1] {
		short += g.missing()
	}
	for short > 0 {
		var largest *Reservation
		for r := range m.arriving {
			if r.n > size && (largest == nil || r.n > largest.n) {
				largest = r
			}
		}
		if largest == nil {
			return
		}
		m.evict(largest)
		short -= largest.n
	}
}

// evict marks a reservation as evicted and ends its wait. Its bytes are free when it is released.
func (m *Memory) evict(r *Reservation) {
	delete(m.arriving, r)
	r.evicted = true
	m.leaving += r.n
	if g := r.waiting; g != nil {
		r.waiting = nil
		m.queue = slices.DeleteFunc(m.queue, func(other *growth) bool { return other == g })
		close(g.settled)
	}
	r.evict()
}
