package telemetry_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/telemetry"
)

// lines is a slog.Handler that keeps what it is given, as one string a line.
type lines struct {
	mu   sync.Mutex
	kept []string
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lines) WithGroup(string) slog.Handler            { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	l.kept = append(l.kept, text)
	return nil
}

// take returns the lines since it was called last, those that are alike as one with their number.
func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var got []string
	for len(l.kept) > 0 {
		n := slices.IndexFunc(l.kept, func(s string) bool { return s != l.kept[0] })
		if n < 0 {
			n = len(l.kept)
		}
		got = append(got, fmt.Sprintf("%d × %s", n, l.kept[0]))
		l.kept = l.kept[n:]
	}
	return got
}

func TestThrottle(t *testing.T) {
	reg := prometheus.NewRegistry()
	written := &lines{}
	log := telemetry.NewMetrics(reg).Throttle(slog.New(written))
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
		{"a burst", 0, func() { write(h, 150, slog.LevelInfo, "denied") }, []string{"100 × INFO denied"}},
		{
			"other levels meanwhile", 0,
			func() {
				write(h, 101, slog.LevelWarn, "invalid")
				write(h, 101, slog.LevelError, "panic")
				write(h, 500, slog.LevelDebug, "allowed")
			},
			[]string{"100 × WARN invalid", "100 × ERROR panic", "500 × DEBUG allowed"},
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
			[]string{"1 × INFO log lines were left out lines=70", "1 × INFO denied"},
		},
		{
			"within a second of the last report", 999 * time.Millisecond,
			func() { write(h, 60, slog.LevelInfo, "denied") },
			[]string{"49 × INFO denied"},
		},
		{
			"the flood goes on", time.Second,
			func() { write(h, 1000, slog.LevelInfo, "denied") },
			[]string{"1 × INFO log lines were left out lines=12", "50 × INFO denied"},
		},
		{
			"the flood is over", time.Hour,
			func() { write(h, 99, slog.LevelInfo, "denied") },
			[]string{"1 × INFO log lines were left out lines=950", "99 × INFO denied"},
		},
		{
			"a line that is late", -time.Minute,
			func() { write(h, 1, slog.LevelInfo, "denied") },
			[]string{"1 × INFO denied"},
		},
		{"after which no time has passed", time.Minute, func() { write(h, 1, slog.LevelInfo, "denied") }, nil},
	} {
		now = now.Add(step.after)
		step.do()
		if diff := cmp.Diff(step.want, written.take()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	for _, want := range []string{
		`evergate_log_lines_dropped_total{level="info"} 1033`,
		`evergate_log_lines_dropped_total{level="warn"} 1`,
		`evergate_log_lines_dropped_total{level="error"} 1`,
	} {
		if text := scrape(t, reg); !strings.Contains(text, want+"\n") {
			t.Errorf("there is no line %s in\n%s", want, text)
		}
	}
}

// No goroutine that logs ever waits, and no line is lost without being counted.
func TestThrottleOfManyGoroutines(t *testing.T) {
	reg := prometheus.NewRegistry()
	written := &lines{}
	h := telemetry.NewMetrics(reg).Throttle(slog.New(written)).Handler()
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
	if diff := cmp.Diff([]string{"100 × INFO denied"}, written.take()); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(scrape(t, reg), `evergate_log_lines_dropped_total{level="info"} 700`) {
		t.Error("not 700 lines are counted as left out")
	}
}
