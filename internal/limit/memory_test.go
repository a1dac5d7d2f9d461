package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// gauge is the sum of the reserved bytes.
type gauge struct{ sum float64 }

func (g *gauge) Add(n float64) { g.sum += n }

func testMemory(size int64) *Memory { return NewMemory(size, new(gauge)) }

func grow(ctx context.Context, r *Reservation, size int64) error {
	return r.Grow(ctx, time.Now().Add(queueTime), size, func() func() { return func() {} })
}

func nop() {}

// arriving returns the reservation of a body that has this size and is still arriving. The channel receives an element
// when the body is evicted.
func arriving(t *testing.T, m *Memory, size int64) (*Reservation, <-chan bool) {
	t.Helper()
	evicted := make(chan bool, 1)
	r := m.Reserve(func() { evicted <- true })
	if err := grow(t.Context(), r, size); err != nil {
		t.Fatal(err)
	}
	return r, evicted
}

// arrived returns the reservation of a complete body.
func arrived(t *testing.T, m *Memory, size int64) *Reservation {
	t.Helper()
	r, _ := arriving(t, m, size)
	if err := r.Arrived(); err != nil {
		t.Fatal(err)
	}
	return r
}

// empty checks that all bytes have been released.
func empty(t *testing.T, m *Memory, size int64) {
	t.Helper()
	if m.free != size || m.leaving != 0 || len(m.arriving) != 0 || len(m.queue) != 0 || m.gauge.(*gauge).sum != 0 {
		t.Errorf("%+v, want %d free", m, size)
	}
}

func TestTheLargestIsEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := testMemory(10)
		small, smallEvicted := arriving(t, m, 2)
		large, largeEvicted := arriving(t, m, 5)
		middle, middleEvicted := arriving(t, m, 3)
		other := m.Reserve(nop)
		granted := make(chan error, 1)
		go func() { granted <- grow(t.Context(), other, 1) }()
		synctest.Wait()
		if len(largeEvicted) != 1 || len(middleEvicted) != 0 || len(smallEvicted) != 0 {
			t.Fatalf("evicted: large %d, middle %d, small %d; want only the large one",
				len(largeEvicted), len(middleEvicted), len(smallEvicted))
		}
		if len(granted) != 0 {
			t.Fatal("granted before there was room")
		}
		if err := large.Arrived(); !errors.Is(err, ErrEvicted) {
			t.Errorf("the evicted body arrived: %v", err)
		}
		large.Release()
		if err := <-granted; err != nil {
			t.Error(err)
		}
		// Of its 5 bytes, 4 are free. This is enough for the next body, so no body is evicted for it.
		next := arrived(t, m, 4)
		if len(middleEvicted)+len(smallEvicted) != 0 {
			t.Error("evicted although there was room")
		}
		for _, r := range []*Reservation{middle, small, other, next} {
			r.Release()
		}
		empty(t, m, 10)
	})
}

// A body that has arrived, or that is not larger, is not evicted.
func TestNotEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := testMemory(10)
		there := arrived(t, m, 6)
		same, evicted := arriving(t, m, 4)
		other := m.Reserve(nop)
		if err := grow(t.Context(), other, 4); !errors.Is(err, errQueueDeadline) {
			t.Errorf("got %v", err)
		}
		if len(evicted) != 0 {
			t.Error("a body was evicted for one of its own size")
		}
		for _, r := range []*Reservation{there, same, other} {
			r.Release()
		}
		empty(t, m, 10)
	})
}

// A body that waits to grow is evicted like a body that waits for bytes.
func TestEvictedWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := testMemory(10)
		there := arrived(t, m, 4)
		r, evicted := arriving(t, m, 6)
		grown := make(chan error, 1)
		go func() {
			defer r.Release()
			grown <- grow(t.Context(), r, 9)
		}()
		synctest.Wait()
		small := m.Reserve(nop)
		if err := grow(t.Context(), small, 1); err != nil {
			t.Error(err)
		}
		if err := <-grown; !errors.Is(err, ErrEvicted) || len(evicted) != 1 {
			t.Errorf("it grew, or failed with %v", err)
		}
		if err := grow(t.Context(), r, 1); !errors.Is(err, ErrEvicted) {
			t.Errorf("an evicted body grew: %v", err)
		}
		there.Release()
		small.Release()
		empty(t, m, 10)
	})
}

// The smallest body goes first, and the first of two bodies of the same size.
func TestTheSmallestGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := testMemory(5)
		there := arrived(t, m, 5)
		var waiting [5]*Reservation
		for i, size := range []int64{5, 3, 3, 5, 1} {
			waiting[i] = m.Reserve(nop)
			go func() {
				if err := grow(t.Context(), waiting[i], size); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		for _, step := range []struct {
			released []*Reservation
			want     [5]int64 // the bytes of each waiting body
		}{
			{[]*Reservation{there}, [5]int64{0, 3, 0, 0, 1}},
			{[]*Reservation{waiting[1]}, [5]int64{0, 0, 3, 0, 1}},
			{[]*Reservation{waiting[2], waiting[4]}, [5]int64{5, 0, 0, 0, 0}},
			{[]*Reservation{waiting[0]}, [5]int64{0, 0, 0, 5, 0}},
			{[]*Reservation{waiting[3]}, [5]int64{}},
		} {
			for _, r := range step.released {
				r.Release()
			}
			synctest.Wait()
			for i, r := range waiting {
				if r.n != step.want[i] {
					t.Errorf("number %d holds %d, want %d", i, r.n, step.want[i])
				}
			}
		}
		empty(t, m, 5)
	})
}

// A body that grows waits behind a smaller body, even if there is room for its growth.
func TestAGrowingBodyDoesNotJumpTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := testMemory(10)
		there := arrived(t, m, 3)
		growing, _ := arriving(t, m, 3)
		smaller := m.Reserve(nop)
		go func() { _ = grow(t.Context(), smaller, 5) }()
		synctest.Wait()
		go func() { _ = grow(t.Context(), growing, 7) }()
		synctest.Wait()
		if growing.n != 3 || smaller.n != 0 {
			t.Errorf("they hold %d and %d bytes, want 3 and 0", growing.n, smaller.n)
		}
		there.Release()
		if growing.n != 3 || smaller.n != 5 {
			t.Errorf("then they hold %d and %d bytes, want 3 and 5", growing.n, smaller.n)
		}
		smaller.Release()
		growing.Release()
		synctest.Wait()
		empty(t, m, 10)
	})
}

// Bytes that an evicted body has not released yet count as room, so no other body is evicted for them.
func TestOneEvictionIsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := testMemory(10)
		large, largeEvicted := arriving(t, m, 5)
		middle, middleEvicted := arriving(t, m, 4)
		small := [2]*Reservation{m.Reserve(nop), m.Reserve(nop)}
		for _, r := range small {
			go func() {
				if err := grow(t.Context(), r, 3); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		if len(largeEvicted) != 1 || len(middleEvicted) != 0 {
			t.Errorf("evicted: large %d, middle %d; want only the large one", len(largeEvicted), len(middleEvicted))
		}
		for _, r := range []*Reservation{large, middle, small[0], small[1]} {
			r.Release()
			synctest.Wait()
		}
		empty(t, m, 10)
	})
}

// Room or an eviction just before a body queues is not missed.
func TestSettledBeforeItQueues(t *testing.T) {
	m := testMemory(10)
	r := m.Reserve(nop)
	if g := m.enqueue(r, 5); !g.granted || r.n != 5 {
		t.Errorf("%+v is not granted", g)
	}
	m.evict(r)
	select {
	case <-m.enqueue(r, 6).settled:
	default:
		t.Error("an evicted body queues")
	}
	r.Release()
	empty(t, m, 10)
}

// A body whose client has disconnected does not get memory, even if there is room.
func TestMemoryForAClientThatHasGone(t *testing.T) {
	m := testMemory(10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := m.Reserve(nop)
	if err := grow(ctx, r, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	r.Release()
	empty(t, m, 10)
}

// A body whose client disconnects gives up its place in the queue.
func TestClientGoesWhileItsBodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := testMemory(10)
		there := arrived(t, m, 5)
		ctx, leave := context.WithCancel(t.Context())
		first, second := m.Reserve(nop), m.Reserve(nop)
		failed := make(chan error, 1)
		go func() { failed <- grow(ctx, first, 6) }()
		synctest.Wait()
		granted := make(chan error, 1)
		go func() { granted <- grow(t.Context(), second, 7) }()
		synctest.Wait()
		leave()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		first.Release()
		there.Release()
		if err := <-granted; err != nil {
			t.Error(err)
		}
		second.Release()
		empty(t, m, 10)
	})
}
