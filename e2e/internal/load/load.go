// Package load makes calls as fast as a number of workers can, until Stop. It counts the calls and the lost calls, and
// records when and why calls were lost.
package load

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Load is a number of workers that make calls until Stop.
type Load struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	begun  atomic.Int64
	made   atomic.Int64 // begun and answered

	mu      sync.Mutex
	books   Books
	waiting []waiter
}

type waiter struct {
	at    int64 // calls that have been answered
	event chan struct{}
}

// Start starts n workers that make one call after another. call makes the i-th call of the load. If it returns an
// error, the call was lost.
func Start(ctx context.Context, n int, call func(ctx context.Context, i int64) error) *Load {
	ctx, cancel := context.WithCancel(ctx)
	l := &Load{cancel: cancel, books: Books{Reasons: map[string]int{}, Begun: time.Now()}}
	for range n {
		l.done.Go(func() {
			for ctx.Err() == nil {
				// A call that has begun is finished. Stop does not cancel it or count it as a failure.
				l.record(call(context.WithoutCancel(ctx), l.begun.Add(1)))
			}
		})
	}
	return l
}

func (l *Load) record(err error) {
	now := time.Now()
	made := l.made.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.books.lost(err, now)
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool {
		if made >= w.at {
			close(w.event)
		}
		return made >= w.at
	})
}

// After returns a channel that is closed when n more calls have been answered.
func (l *Load) After(n int64) <-chan struct{} {
	event := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, waiter{l.made.Load() + n, event})
	return event
}

// Books returns the counts so far.
func (l *Load) Books() Books {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books
	b.Calls, b.Ended = l.made.Load(), time.Now()
	b.Reasons, b.Lost = maps.Clone(b.Reasons), slices.Clone(b.Lost)
	return b
}

// Stop waits for the calls under way and returns the books.
func (l *Load) Stop() Books {
	l.cancel()
	l.done.Wait()
	return l.Books()
}

// Books contains the results of a load.
type Books struct {
	Calls, Failures int64
	Reasons         map[string]int // the reasons for failures, and the number of each
	Begun, Ended    time.Time      // of the load
	Lost            []time.Time    // when calls were found to be lost; at most the first ten thousand
}

// enough is the number of failures that are recorded individually. Nobody reads more.
const enough = 10_000

func (b *Books) lost(err error, now time.Time) {
	b.Failures++
	b.Reasons[reason(err)]++
	if len(b.Lost) < enough {
		b.Lost = append(b.Lost, now)
	}
}

// String lists the reasons, the most frequent first.
func (b Books) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "calls %d, failures %d", b.Calls, b.Failures)
	for _, why := range slices.SortedFunc(maps.Keys(b.Reasons),
		func(x, y string) int { return b.Reasons[y] - b.Reasons[x] }) {
		fmt.Fprintf(&s, "\n  %6d × %s", b.Reasons[why], why)
	}
	return s.String()
}

// reason removes the parts of an error that differ between calls, mainly ports, so equal failures are counted together.
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
