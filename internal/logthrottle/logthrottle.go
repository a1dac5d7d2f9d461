// Package logthrottle limits the number of lines that a logger writes if clients can cause any number of lines.
package logthrottle

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// linesPerSecond is the sustained limit of one replica. A denial has 300 bytes. At this rate, a gigabyte a day is
	// written, which log pipelines can process and nobody reads to the end.
	linesPerSecond = 50
	// linesAtOnce is the burst limit. It is enough for all denials of a Deployment that is scaled to a hundred Pods.
	linesAtOnce = 100
	// reportInterval is the shortest time between two log lines about dropped lines.
	reportInterval = time.Second
)

// Counter counts dropped lines.
type Counter interface{ Inc() }

// New returns a logger that writes to log, but not more lines than disks and people can process, because clients choose
// how many reviews are denied. The counter that dropped returns for a level counts the dropped lines of that level.
// When lines are written again, a line with their number comes first. Each level has a separate allowance, so denials
// never hide an error. Level debug is not limited, because everything is needed at that level. Lines are dropped and
// never wait.
func New(log *slog.Logger, dropped func(slog.Level) Counter) *slog.Logger {
	t := &throttle{log.Handler(), new([3]allowance)}
	for i := range t.allowances {
		t.allowances[i].dropped = dropped(slog.Level(i * levelStep))
	}
	return slog.New(t)
}

// levelStep is the distance between two levels of slog. Info is 0, Warn is 4 and Error is 8.
const levelStep = int(slog.LevelWarn - slog.LevelInfo)

// throttle is a slog.Handler. The handlers that WithAttrs and WithGroup return share its allowances.
type throttle struct {
	next       slog.Handler
	allowances *[3]allowance // of the levels Info, Warn and Error, and of the levels above them
}

// Enabled implements slog.Handler.
func (t *throttle) Enabled(ctx context.Context, l slog.Level) bool { return t.next.Enabled(ctx, l) }

// Handle implements slog.Handler.
func (t *throttle) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelInfo {
		return t.next.Handle(ctx, r)
	}
	ok, lost := t.allowances[min(int(r.Level)/levelStep, 2)].take(r.Time)
	if !ok {
		return nil
	}
	var reported error
	if lost > 0 {
		line := slog.NewRecord(r.Time, r.Level, "log lines were dropped", 0)
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

// allowance is a token bucket with one token for each line. It uses the times of the lines as its clock.
type allowance struct {
	dropped Counter

	mu       sync.Mutex
	tokens   float64
	at       time.Time // time of the latest line; until the first line, the bucket is full
	lost     int       // lines dropped since the last line that reported them
	reported time.Time // time of that line
}

// take takes a token for a line with the given time. It reports whether the line is to be written, and the number of
// dropped lines to report before it, if any.
func (a *allowance) take(now time.Time) (ok bool, lost int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if passed := now.Sub(a.at); passed > 0 { // lines of several goroutines arrive in any order
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
