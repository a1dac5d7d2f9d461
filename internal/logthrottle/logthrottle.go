// Package logthrottle bounds how many lines a logger writes, where clients choose how many there are.
package logthrottle

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// linesPerSecond is what one replica may write for long. A denial has 300 bytes: at this rate it makes a gigabyte a
	// day, which log pipelines can take and no operator reads to the end.
	linesPerSecond = 50
	// linesAtOnce is what it may write in one go: all denials of a Deployment that is scaled to a hundred Pods.
	linesAtOnce = 100
	// reportInterval is how often the number of dropped lines is logged while there are more of them.
	reportInterval = time.Second
)

// Counter counts dropped lines.
type Counter interface{ Inc() }

// New returns a logger that writes what log does, but no more lines than disks and operators can take: clients choose
// how many reviews are denied. Dropped lines are counted, by the counter that dropped returns for their level, and one
// line logs their number when lines are written again. Each level has an allowance of its own, so that denials never
// hide an error. Level debug has no limit: an operator who sets it wants everything. Lines are dropped, never made to
// wait.
func New(log *slog.Logger, dropped func(slog.Level) Counter) *slog.Logger {
	of := func(l slog.Level) allowance { return allowance{dropped: dropped(l)} }
	return slog.New(&throttle{
		next:       log.Handler(),
		allowances: &allowances{of(slog.LevelInfo), of(slog.LevelWarn), of(slog.LevelError)},
	})
}

// throttle is a slog.Handler. Those that WithAttrs and WithGroup make of it share its allowances.
type throttle struct {
	next slog.Handler
	*allowances
}

// Enabled implements slog.Handler.
func (t *throttle) Enabled(ctx context.Context, l slog.Level) bool { return t.next.Enabled(ctx, l) }

// Handle implements slog.Handler.
func (t *throttle) Handle(ctx context.Context, r slog.Record) error {
	a := t.of(r.Level)
	if a == nil {
		return t.next.Handle(ctx, r)
	}
	ok, lost := a.take(r.Time)
	if !ok {
		return nil
	}
	var reported error
	if lost > 0 {
		line := slog.NewRecord(r.Time, r.Level, "log lines were left out", 0)
		line.AddAttrs(slog.Int("lines", lost))
		reported = t.next.Handle(ctx, line)
	}
	return errors.Join(reported, t.next.Handle(ctx, r))
}

// WithAttrs implements slog.Handler.
func (t *throttle) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &throttle{t.next.WithAttrs(attrs), t.allowances}
}

// WithGroup implements slog.Handler.
func (t *throttle) WithGroup(name string) slog.Handler {
	return &throttle{t.next.WithGroup(name), t.allowances}
}

// allowances are those of the levels.
type allowances struct{ info, warn, err allowance }

// of returns the allowance of a level; nil where there is no limit.
func (a *allowances) of(l slog.Level) *allowance {
	switch {
	case l >= slog.LevelError:
		return &a.err
	case l >= slog.LevelWarn:
		return &a.warn
	case l >= slog.LevelInfo:
		return &a.info
	}
	return nil
}

// allowance is a token bucket: one token a line. It goes by the times of the lines.
type allowance struct {
	dropped Counter

	mu       sync.Mutex
	tokens   float64
	at       time.Time // the latest line; until the first one the bucket is full
	lost     int       // lines dropped since the last line that reports them
	reported time.Time // when that was
}

// take takes a token for a line of that time. ok: the line is to be written, after one that reports lost dropped lines
// if there are any.
func (a *allowance) take(now time.Time) (ok bool, lost int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if passed := now.Sub(a.at); passed > 0 { // lines of several goroutines come in any order
		a.tokens = min(linesAtOnce, a.tokens+passed.Seconds()*linesPerSecond)
		a.at = now
	}
	if a.tokens < 1 {
		a.lost++
		a.dropped.Inc()
		return false, 0
	}
	a.tokens--
	if a.lost > 0 && now.Sub(a.reported) >= reportInterval {
		lost, a.lost, a.reported = a.lost, 0, now
	}
	return true, lost
}
