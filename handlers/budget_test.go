package handlers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func testBudget(size int64, line int) *budget {
	return newBudget(size, line, prometheus.NewGauge(prometheus.GaugeOpts{}))
}

func grow(ctx context.Context, s *share, size int64) error {
	return s.grow(ctx, time.Now().Add(patience), size)
}

// arriving returns the share of a body that has the size already and goes on arriving. If it is cut off, what it was
// told stands in the channel.
func arriving(t *testing.T, b *budget, size int64) (*share, <-chan error) {
	t.Helper()
	told := make(chan error, 1)
	s := b.share(func(why error) { told <- why })
	if err := grow(t.Context(), s, size); err != nil {
		t.Fatal(err)
	}
	return s, told
}

// arrived returns the share of a body that is there.
func arrived(t *testing.T, b *budget, size int64) *share {
	t.Helper()
	s, _ := arriving(t, b, size)
	if err := s.arrived(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBudgetCutsOffTheLargest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testBudget(10, 10)
		small, smallTold := arriving(t, b, 2)
		large, largeTold := arriving(t, b, 5)
		middle, middleTold := arriving(t, b, 3)

		admitted := make(chan error, 1)
		go func() { admitted <- grow(t.Context(), b.share(nil), 1) }()
		synctest.Wait()
		if len(largeTold) != 1 || len(middleTold) != 0 || len(smallTold) != 0 {
			t.Fatalf("cut off: large %d, middle %d, small %d; want the large one alone", len(largeTold), len(middleTold), len(smallTold))
		}
		if len(admitted) != 0 {
			t.Fatal("somebody was let in before there was room")
		}
		e := asHTTPError(<-largeTold)
		want := "overloaded: this body had to make room for smaller ones before it had arrived"
		if e.status != 429 || e.reason != "body_bytes_cut_off" || !e.close || e.msg != want {
			t.Errorf("it was told %+v", e)
		}
		if err := large.arrived(); err == nil {
			t.Error("a body that was cut off arrived nevertheless")
		}
		large.release()
		if err := <-admitted; err != nil {
			t.Error(err)
		}

		// 5, less 1, are free: enough for the next, for which nobody has to go.
		arrived(t, b, 4)
		if len(middleTold)+len(smallTold) != 0 {
			t.Error("somebody was cut off although there was room")
		}
		middle.release()
		small.release()
		arrived(t, b, 5) // everything was given back
	})
}

func TestBudgetSparesWhoArrivedAndWhoIsNotLarger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testBudget(10, 10)
		there := arrived(t, b, 6)
		same, told := arriving(t, b, 4)
		if err := grow(t.Context(), b.share(nil), 4); err == nil || asHTTPError(err).reason != "body_bytes_waited" {
			t.Errorf("no room, and nobody that is larger and still arriving: %v", err)
		}
		if len(told) != 0 {
			t.Error("a body was cut off for one of its own size")
		}
		there.release()
		same.release()
		arrived(t, b, 10)
	})
}

// One that waits to grow is cut off like one that waits for bytes.
func TestBudgetCutsOffWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testBudget(10, 10)
		there := arrived(t, b, 4)
		ctx, cut := context.WithCancelCause(t.Context())
		s := b.share(cut)
		if err := grow(ctx, s, 6); err != nil {
			t.Fatal(err)
		}
		grown := make(chan error, 1)
		go func() {
			defer s.release()
			grown <- grow(ctx, s, 9)
		}()
		synctest.Wait()
		if err := grow(t.Context(), b.share(nil), 1); err != nil {
			t.Error(err)
		}
		if err := <-grown; err == nil || asHTTPError(err).reason != "body_bytes_cut_off" {
			t.Errorf("it grew, or was told %v", err)
		}
		there.release()
		arrived(t, b, 9)
	})
}

func TestBudgetAdmitsTheSmallestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testBudget(4, 3)
		there := arrived(t, b, 4)
		admitted := make(chan *share, 4)
		refused := make(chan string, 4)
		for _, size := range []int64{4, 3, 2, 1} { // the line has three places: whoever wants most goes
			go func() {
				s := b.share(nil)
				if err := grow(t.Context(), s, size); err != nil {
					refused <- asHTTPError(err).reason
					return
				}
				admitted <- s
			}()
			synctest.Wait()
		}
		if got := <-refused; got != "body_bytes_line_full" {
			t.Errorf("the largest was told %s", got)
		}
		there.release()
		synctest.Wait()
		if len(admitted) != 2 {
			t.Fatalf("%d were let in, want the two smallest", len(admitted))
		}
		for range 2 {
			s := <-admitted
			if s.n > 2 {
				t.Errorf("the one that wants %d overtook a smaller one", s.n)
			}
			s.release()
		}
		(<-admitted).release()
		arrived(t, b, 4)
	})
}

// Whoever gives up makes way for those behind it.
func TestBudgetForgetsWhoHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testBudget(10, 10)
		there := arrived(t, b, 5)
		ctx, leave := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { first <- grow(ctx, b.share(nil), 6) }()
		synctest.Wait()
		leave()
		if err := <-first; err == nil || asHTTPError(err).reason != "caller_gone" {
			t.Errorf("the one that left was told %v", err)
		}
		arrived(t, b, 5).release()
		there.release()
		arrived(t, b, 10)
	})
}
