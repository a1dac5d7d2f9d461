package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// queueTime is how long the requests of tests wait, in the fake time of a synctest bubble.
const queueTime = time.Second

func acquire(ctx context.Context, s *Slots) (*Slot, error) {
	return s.Acquire(ctx, time.Now().Add(queueTime), "", nil)
}

func mustAcquire(t *testing.T, s *Slots) *Slot {
	t.Helper()
	slot, err := acquire(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

func TestSlotsAreFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(2)
		taken := []*Slot{mustAcquire(t, s), mustAcquire(t, s)}
		order := make(chan int, 3)
		for i := range 3 {
			go func() {
				slot, err := acquire(t.Context(), s)
				if err != nil {
					t.Error(err)
					return
				}
				order <- i
				slot.Release()
			}()
			synctest.Wait()
		}
		if n := s.Waiting(); n != 3 {
			t.Errorf("%d wait, want 3", n)
		}
		taken[0].Release()
		for want := range 3 {
			if got := <-order; got != want {
				t.Errorf("number %d was next, want %d", got, want)
			}
		}
		taken[1].Release()
		synctest.Wait()
		mustAcquire(t, s)
		mustAcquire(t, s) // everything was released
		if n := s.Waiting(); n != 0 {
			t.Errorf("%d wait, want 0", n)
		}
	})
}

func TestNoSlotIsFree(t *testing.T) {
	errDeadline := errors.New("deadline")
	for name, test := range map[string]struct {
		ctx   func(context.Context) (context.Context, context.CancelFunc)
		after time.Duration
		want  error
	}{
		"queue deadline": {context.WithCancel, queueTime, errQueueDeadline},
		"deadline before the queue deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, queueTime/2, errDeadline)
		}, queueTime / 2, errDeadline},
		"the client goes while it waits": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(queueTime/4, cancel)
			return ctx, cancel
		}, queueTime / 4, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewSlots(1)
				taken := mustAcquire(t, s)
				ctx, cancel := test.ctx(t.Context())
				defer cancel()
				start := time.Now()
				if _, err := acquire(ctx, s); !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				if took := time.Since(start); took != test.after {
					t.Errorf("after %v, want %v", took, test.after)
				}
				taken.Release()
				mustAcquire(t, s) // no slot is kept for a request whose client has disconnected
			})
		})
	}
}

// A request whose client has disconnected does not get a slot, even if one is free.
func TestClientHasGone(t *testing.T) {
	s := NewSlots(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := acquire(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	mustAcquire(t, s)
}

func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(3)
		check := func(want ...string) {
			t.Helper()
			got := s.Stuck(time.Minute, 4)
			if len(got) != len(want) {
				t.Fatalf("%d are stuck, want %d", len(got), len(want))
			}
			for i := range got {
				if is := got[i].Path + " " + string(got[i].Start); is != want[i] {
					t.Errorf("stuck: %s, want %s", is, want[i])
				}
			}
		}
		used := func(path, body string) *Slot {
			slot, err := s.Acquire(t.Context(), time.Now().Add(queueTime), path, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			return slot
		}
		first := used("/a", "a long body")
		<-time.After(30 * time.Second)
		second := used("/b", "b")
		<-time.After(30*time.Second - 1)
		check()
		<-time.After(1)
		check("/a a lo")
		<-time.After(30 * time.Second)
		check("/a a lo", "/b b")
		first.Release()
		check("/b b")
		second.Release()
		check()
	})
}
