package rollover

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// Demo is a number of rollovers whose calls are shown while they are made.
type Demo struct {
	Options
	Rollovers int
	Pause     time.Duration // before each rollover, and after the last one
	Live      bool          // the counter is updated in place, as terminals can do
}

// Run does the rollovers and writes the numbers of sent, answered and lost calls to w. It returns the final numbers. If
// ctx ends, it ends early with an error, but it does not interrupt calls.
func (d Demo) Run(ctx context.Context, w io.Writer) (Counts, error) {
	whole := context.WithoutCancel(ctx)
	c, err := Start(whole, d.Options)
	if err != nil {
		return Counts{}, err
	}
	s := &screen{w: w, live: d.Live, cluster: c, begun: time.Now()}
	s.event("%d replicas are ready, and get %d calls a second", Replicas, d.Rate*Burst)
	shown := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(shown)
		s.refresh(ctx)
	}()
	err = d.rollovers(ctx, whole, s)
	cancel()
	<-shown
	report := c.Stop()
	counts := c.Counts()
	s.event("%v", counts)
	for why, n := range report.Reasons {
		s.event("%d times: %s", n, why)
	}
	return counts, err
}

func (d Demo) rollovers(ctx, whole context.Context, s *screen) error {
	for i := range d.Rollovers {
		if err := wait(ctx, d.Pause); err != nil {
			return err
		}
		err := s.cluster.Replace(whole, func() {
			s.event("rollover %d of %d: a new replica is ready, and an old one gets SIGTERM", i+1, d.Rollovers)
		})
		if err != nil {
			return err
		}
	}
	if err := wait(ctx, d.Pause); err != nil {
		return err
	}
	return s.cluster.Drained(ctx)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// String returns the numbers in columns.
func (c Counts) String() string {
	return fmt.Sprintf("sent %6d   answered %6d   lost %4d", c.Sent, c.Answered, c.Lost)
}

// screen shows events in lines, and below them the numbers of calls.
type screen struct {
	live    bool
	cluster *Cluster
	begun   time.Time

	mu sync.Mutex
	w  io.Writer
}

// event writes a line above the numbers.
func (s *screen) event(format string, args ...any) { s.write("\n", format, args...) }

func (s *screen) write(end, format string, args ...any) {
	const clear = "\r\x1b[K" // the line of the numbers
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		fmt.Fprint(s.w, clear)
	}
	fmt.Fprintf(s.w, "%5.1f s  %s%s", time.Since(s.begun).Seconds(), fmt.Sprintf(format, args...), end)
}

// refresh updates the numbers until ctx ends.
func (s *screen) refresh(ctx context.Context) {
	every, end := time.Second, "\n"
	if s.live {
		every, end = time.Second/10, ""
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.write(end, "%v", s.cluster.Counts())
		case <-ctx.Done():
			return
		}
	}
}
