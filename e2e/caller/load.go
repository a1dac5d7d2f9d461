package caller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Load is a number of callers that call as fast as they can until Stop.
type Load struct {
	client *Client
	cancel context.CancelFunc
	done   sync.WaitGroup
	begun  atomic.Int64
	made   atomic.Int64 // begun and answered

	mu      sync.Mutex
	reasons map[string]int
	waiting []waiter
}

type waiter struct {
	at      int64
	reached chan struct{}
}

// Start lets n callers make call after call. call makes the i-th call of the load; its error is a failed call.
func Start(ctx context.Context, c *Client, n int, call func(ctx context.Context, i int64) error) *Load {
	ctx, cancel := context.WithCancel(ctx)
	l := &Load{client: c, cancel: cancel, reasons: map[string]int{}}
	for range n {
		l.done.Go(func() {
			for ctx.Err() == nil {
				// A call that has begun is finished: it is cut neither by Stop nor counted as a failure by it.
				l.record(call(context.WithoutCancel(ctx), l.begun.Add(1)))
			}
		})
	}
	return l
}

func (l *Load) record(err error) {
	made := l.made.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.reasons[reason(err)]++
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool {
		if made >= w.at {
			close(w.reached)
		}
		return made >= w.at
	})
}

// After returns a channel that is closed when n more calls have been answered.
func (l *Load) After(n int64) <-chan struct{} {
	reached := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, waiter{l.made.Load() + n, reached})
	return reached
}

// Stop waits for the calls under way and returns the books.
func (l *Load) Stop() Report {
	l.cancel()
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.client
	r := Report{Calls: l.made.Load(), Reasons: l.reasons, Dials: c.dials.Load()}
	for _, n := range l.reasons {
		r.Failures += int64(n)
	}
	r.Retries = c.roundTrips.Load() - c.calls.Load()
	return r
}

// Report says what became of the calls of a load.
type Report struct {
	Calls, Failures int64
	Retries         int64 // answers of 429 or 5xx with Retry-After that the API server's client sent again
	Dials           int64 // connections made
	Reasons         map[string]int
}

func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "calls %d, failures %d, retries %d, connections %d", r.Calls, r.Failures, r.Retries, r.Dials)
	for why, n := range r.Reasons {
		fmt.Fprintf(&b, "\n  %6d × %s", n, why)
	}
	return b.String()
}

// reason cuts from an error what differs between calls, ports above all, so that equal failures count together.
func reason(err error) string {
	s := err.Error()
	if i := strings.Index(s, "?timeout="); i >= 0 {
		if j := strings.Index(s[i:], ": "); j >= 0 {
			s = s[:i] + s[i+j:]
		}
	}
	var b strings.Builder
	for word := range strings.FieldsSeq(s) {
		if strings.Contains(word, "->") {
			word = "…"
		}
		b.WriteString(word + " ")
	}
	return strings.TrimSpace(b.String())
}
