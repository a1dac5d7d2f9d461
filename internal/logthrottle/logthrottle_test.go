package logthrottle_test

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/internal/logtest"
	"github.com/evergate/evergate/internal/logthrottle"
)

// counters contains the counter of each level.
type counters map[slog.Level]*counter

type counter struct{ atomic.Int64 }

func (c *counter) Inc() { c.Add(1) }

func (c counters) of(l slog.Level) logthrottle.Counter {
	c[l] = new(counter)
	return c[l]
}

// counted combines equal neighbors into one line with their number.
func counted(lines []string) (got []string) {
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && lines[n] == lines[0] {
			n++
		}
		got = append(got, fmt.Sprintf("%d × %s", n, lines[0]))
		lines = lines[n:]
	}
	return got
}

func TestThrottle(t *testing.T) {
	dropped := counters{}
	to, written := logtest.New()
	log := logthrottle.New(to, dropped.of)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	write := func(h slog.Handler, n int, level slog.Level, msg string) {
		t.Helper()
		for range n {
			if err := h.Handle(t.Context(), slog.NewRecord(now, level, msg, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	h := log.Handler()
	for _, step := range []struct {
		what  string
		after time.Duration
		do    func()
		want  []string
	}{
		{"a burst", 0, func() { write(h, 150, slog.LevelInfo, "denied") }, []string{"100 × level=INFO msg=denied"}},
		{
			"other levels meanwhile", 0,
			func() {
				write(h, 101, slog.LevelWarn, "invalid")
				write(h, 101, slog.LevelError, "panic")
				write(h, 500, slog.LevelDebug, "allowed")
			},
			[]string{"100 × level=WARN msg=invalid", "100 × level=ERROR msg=panic", "500 × level=DEBUG msg=allowed"},
		},
		{
			"a derived handler, which has the same allowance", 0,
			func() {
				write(h.WithAttrs([]slog.Attr{slog.Int("a", 1)}), 10, slog.LevelInfo, "denied")
				write(h.WithGroup("g"), 10, slog.LevelInfo, "denied")
			},
			nil,
		},
		{
			"the first that comes through", 20 * time.Millisecond,
			func() { write(h, 2, slog.LevelInfo, "denied") },
			[]string{`1 × level=INFO msg="log lines were dropped" lines=70`, "1 × level=INFO msg=denied"},
		},
		{
			"within a second of the last report", 999 * time.Millisecond,
			func() { write(h, 60, slog.LevelInfo, "denied") },
			[]string{"49 × level=INFO msg=denied"},
		},
		{
			"the flood goes on", time.Second,
			func() { write(h, 1000, slog.LevelInfo, "denied") },
			[]string{`1 × level=INFO msg="log lines were dropped" lines=12`, "50 × level=INFO msg=denied"},
		},
		{
			"the flood is over", time.Hour,
			func() { write(h, 99, slog.LevelInfo, "denied") },
			[]string{`1 × level=INFO msg="log lines were dropped" lines=950`, "99 × level=INFO msg=denied"},
		},
		{
			"a line that is late", -time.Minute,
			func() { write(h, 1, slog.LevelInfo, "denied") },
			[]string{"1 × level=INFO msg=denied"},
		},
		{"after which no time has passed", time.Minute, func() { write(h, 1, slog.LevelInfo, "denied") }, nil},
	} {
		now = now.Add(step.after)
		step.do()
		if diff := cmp.Diff(step.want, counted(written.Take())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	for level, want := range map[slog.Level]int64{slog.LevelInfo: 1033, slog.LevelWarn: 1, slog.LevelError: 1} {
		if got := dropped[level].Load(); got != want {
			t.Errorf("%s: %d lines are counted as dropped, want %d", level, got, want)
		}
	}
}

// Goroutines that log never wait, and every dropped line is counted.
func TestThrottleOfManyGoroutines(t *testing.T) {
	dropped := counters{}
	to, written := logtest.New()
	h := logthrottle.New(to, dropped.of).Handler()
	now := time.Now()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				_ = h.Handle(t.Context(), slog.NewRecord(now, slog.LevelInfo, "denied", 0))
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff([]string{"100 × level=INFO msg=denied"}, counted(written.Take())); diff != "" {
		t.Error(diff)
	}
	if got := dropped[slog.LevelInfo].Load(); got != 700 {
		t.Errorf("%d lines are counted as dropped, want 700", got)
	}
}
